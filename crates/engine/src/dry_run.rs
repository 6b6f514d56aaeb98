//! What carrying out a goal would do here, asked of the API server itself with `dryRun=All`: admission, defaults and
//! conflicts included (G404). Nothing is written.

use std::collections::HashMap;

use domain::bundle::Bundle;
use domain::finding::Finding;
use domain::object::ObjectRef;
use domain::plan::{Effect, ObjectEffect, Outcome, diff, removed_since};
use domain::policy::{ConflictPolicy, DeletionPolicy, Policies, UpdateStrategy};
use domain::report::{Goal, Want};
use domain::{Digest, ReleaseId};
use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use crate::api::{Api, Force, Resource};
use crate::discovery::Kinds;
use crate::error::Error;
use crate::observe::Live;
use crate::record::{Entry, Record};
use crate::release::{Asked, Context, defined, has_completed, identical};
use crate::rules::{Rule, Rules};
use crate::wanted::{HASH_ANNOTATION, Prepared, RELEASE_LABEL, WORKLOAD_ANNOTATION, Wanted};

/// What a release's own record says, and what is asked for it.
#[derive(Clone, Copy)]
struct Asking<'a> {
    cx: &'a Context,
    api: &'a Api,
    kinds: &'a Kinds,
    /// Kinds that the bundle itself defines.
    defined: &'a HashMap<(String, String), Resource>,
    release: Option<ReleaseId>,
    policies: &'a Policies,
    /// Namespaces that the pass would make first.
    made: &'a (dyn Fn(&str) -> bool + Sync),
}

/// What having this bundle would do.
pub(crate) async fn present(
    cx: &Context,
    release: Option<ReleaseId>,
    bundle: &Bundle,
    policies: &Policies,
) -> Effect {
    let kinds = cx.discovery.refresh().await.unwrap_or_else(|_| cx.discovery.kinds());
    let record = release.and_then(|release| cx.records.get(release));
    let prepared = prepare(release, record.as_deref(), bundle);
    let (api, rules) = (cx.api.acting_as(policies.executor()), Rules::of(policies));
    let defined = defined(&prepared.objects);
    let own = |o: &ObjectRef, namespace: &str| o.kind == "Namespace" && o.name == namespace;
    let made =
        |namespace: &str| policies.create_namespace || bundle.refs().any(|object| own(&object, namespace));
    let asking = Asking { cx, api: &api, kinds: &kinds, defined: &defined, release, policies, made: &made };
    let all: Vec<_> = prepared
        .objects
        .iter()
        .map(|wanted| asking.about(wanted, rules.about(policies, &wanted.object)))
        .collect();
    let mut answers: Vec<(u32, ObjectEffect, Option<Finding>)> =
        stream::iter(all).buffer_unordered(cx.options.concurrency.max(1)).collect().await;
    answers.sort_by_key(|(ordinal, ..)| *ordinal);
    let findings = answers.iter_mut().filter_map(|(.., finding)| finding.take()).collect();
    let mut objects: Vec<ObjectEffect> = answers.into_iter().map(|(_, effect, _)| effect).collect();
    if let Some(record) = record.filter(|_| policies.prune) {
        let kept = |entry: &&Entry| bundle.refs().any(|object| object.same_object(&entry.object));
        let leftovers: Vec<&Entry> = record.resources.iter().filter(|entry| !kept(entry)).collect();
        objects.extend(asking.gone(&leftovers, DeletionPolicy::Foreground).await);
    }
    Effect { findings, ..Effect::of(objects) }
}

/// What leaving would do: only what the release's record lists is touched.
pub(crate) async fn absent(
    cx: &Context,
    release: Option<ReleaseId>,
    deletion: DeletionPolicy,
    policies: &Policies,
) -> Effect {
    let Some(record) = release.and_then(|release| cx.records.get(release)) else { return Effect::default() };
    let (kinds, defined) = (cx.discovery.kinds(), HashMap::new());
    let made = |_: &str| false;
    let asking =
        Asking { cx, api: &cx.api, kinds: &kinds, defined: &defined, release, policies, made: &made };
    let entries: Vec<&Entry> = record.resources.iter().collect();
    Effect::of(asking.gone(&entries, deletion).await)
}

fn prepare(release: Option<ReleaseId>, record: Option<&Record>, bundle: &Bundle) -> Prepared {
    let digest = Digest::of(b"");
    let want = Want {
        // A release that does not exist yet: the label is not compared below.
        release: release.unwrap_or_else(|| ReleaseId::from_parts(0, 0)),
        workload: record.map(|record| record.workload.clone()).unwrap_or_default(),
        generation: 0,
        sync_nonce: 0,
        goal: Goal::Present { bundle: digest.clone(), revision: 0, policies: Policies::default() },
    };
    Prepared::new(&want, digest, bundle)
}

impl Asking<'_> {
    /// Position, what would happen, and what else is to be said.
    async fn about(self, wanted: &Wanted, rule: Rule<'_>) -> (u32, ObjectEffect, Option<Finding>) {
        let (effect, finding) = match self.one(wanted, &rule).await {
            Ok(outcome) => (ObjectEffect::tried(wanted.object.clone(), outcome), None),
            Err(error) => self.judged(wanted, &rule, &error).await,
        };
        (wanted.ordinal, effect, finding)
    }

    async fn one(self, wanted: &Wanted, rule: &Rule<'_>) -> Result<Outcome, Error> {
        let object = &wanted.object;
        let Some(resource) = self.kinds.of(object) else {
            return Err(Error::ApiMissing(format!("{} ({})", object.kind, object.api_version())));
        };
        let path = Resource::object(resource, &object.namespace, &object.name);
        let live = match self.api.get(&path).await {
            Ok(live) => Some(live),
            Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error),
        };
        match (rule.strategy, &live) {
            (UpdateStrategy::ServerSideApply, _) | (UpdateStrategy::CreateOnly, None) => {}
            (UpdateStrategy::ReadOnly, None) => return Err(Error::ObjectAwaited(object.to_string())),
            (_, Some(_)) => return Ok(Outcome::Unchanged),
        }
        let owner = live.as_ref().and_then(|live| Live::of(live).release);
        if let (Some(live), true) = (&live, owner.is_some() && owner == self.release)
            && object.kind == "Job"
            && has_completed(live)
        {
            return Ok(Outcome::Unchanged);
        }
        if let Some(other) = owner.filter(|owner| Some(*owner) != self.release) {
            self.taken(other)?;
        }
        let force = if self.policies.conflict == ConflictPolicy::TakeOver { Force::Yes } else { Force::No };
        if let (Some(live), None, ConflictPolicy::IfIdentical) = (&live, owner, self.policies.conflict) {
            identical(Asked { wanted, rule }, live)?;
        }
        let mut after =
            self.api.apply(&path, wanted.body(live.as_ref(), rule, false), force, true).await?.object;
        let Some(mut live) = live else { return Ok(Outcome::Create) };
        for object in [&mut after, &mut live] {
            without_marks(object);
        }
        let mut changes = diff(&after, &live);
        changes.extend(removed_since(&live, &after, &live));
        Ok(Outcome::of_changes(changes))
    }

    /// Refuses if another workload that is wanted has it, or if the policy is to leave it then.
    fn taken(self, other: ReleaseId) -> Result<(), Error> {
        if !self.cx.slots.is_wanted(other) && self.policies.conflict != ConflictPolicy::Abort {
            return Ok(());
        }
        let workload = self.cx.records.get(other).map(|record| record.workload.clone());
        Err(Error::Conflict(workload.unwrap_or_else(|| other.to_string())))
    }

    /// What an error means: a verdict, or that nothing could be tried.
    async fn judged(
        self,
        wanted: &Wanted,
        rule: &Rule<'_>,
        error: &Error,
    ) -> (ObjectEffect, Option<Finding>) {
        let object = wanted.object.clone();
        let defined = || self.defined.contains_key(&(object.group.clone(), object.kind.clone()));
        let why = match error {
            Error::ApiMissing(_) if defined() => "Its kind is defined by this workload and not there yet.",
            Error::NamespaceMissing(_) if (self.made)(&object.namespace) => "Its namespace is made first.",
            Error::Invalid(message) if message.contains("does not support dry run") => {
                let finding = Finding::warning(
                    "G405",
                    format!("{object} could not be tried: {message}."),
                    "The static checks passed; watch this object when it is published.",
                );
                let outcome = self.compared(wanted, rule).await;
                return (ObjectEffect::untried(object, outcome, message), Some(finding));
            }
            // Whoever makes it, it is not us.
            error @ Error::ObjectAwaited(_) => {
                return (ObjectEffect::untried(object, Outcome::Unchanged, format!("{error}.")), None);
            }
            error => match refusal(&object, error) {
                Some(finding) => {
                    return (ObjectEffect::tried(object, Outcome::Refused { finding }), None);
                }
                None => {
                    let outcome = self.compared(wanted, rule).await;
                    return (ObjectEffect::untried(object, outcome, format!("{error}.")), None);
                }
            },
        };
        (ObjectEffect::untried(object, Outcome::Create, why), None)
    }

    /// What would change as far as it can be seen without the server's help.
    async fn compared(self, wanted: &Wanted, rule: &Rule<'_>) -> Outcome {
        let Some(resource) = self.kinds.of(&wanted.object) else { return Outcome::Create };
        let path = Resource::object(resource, &wanted.object.namespace, &wanted.object.name);
        match self.api.get(&path).await {
            Ok(mut live) => {
                let mut wanted = wanted.compared(rule);
                without_marks(&mut wanted);
                without_marks(&mut live);
                Outcome::of_changes(diff(&wanted, &live))
            }
            Err(_) => Outcome::Create,
        }
    }

    /// What becomes of recorded objects that are not wanted any more. What is not there, or is another object of the same
    /// name, is not told: nothing happens to it.
    async fn gone(self, entries: &[&Entry], deletion: DeletionPolicy) -> Vec<ObjectEffect> {
        let all: Vec<_> = entries.iter().rev().map(|entry| self.fate(entry, deletion)).collect();
        let fates = stream::iter(all).buffered(self.cx.options.concurrency.max(1));
        fates.filter_map(async |fate| fate).collect().await
    }

    async fn fate(self, entry: &Entry, deletion: DeletionPolicy) -> Option<ObjectEffect> {
        let object = entry.object.clone();
        let stays = self.policies.orphans(deletion, &object) || entry.shared;
        let outcome = if stays { Outcome::LetGo } else { Outcome::Delete };
        let Some(resource) = self.kinds.of(&object) else {
            return Some(ObjectEffect::untried(object, outcome, "The cluster does not serve its kind now."));
        };
        match self.api.get(&Resource::object(resource, &object.namespace, &object.name)).await {
            Ok(live) => (Live::of(&live).uid == entry.uid).then(|| ObjectEffect::tried(object, outcome)),
            Err(Error::NotFound(_)) => None,
            Err(error) => Some(ObjectEffect::untried(object, outcome, format!("{error}."))),
        }
    }
}

/// Fields that differ with every write, and our own marks, are no change a person should read.
fn without_marks(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    for field in ["managedFields", "resourceVersion", "generation"] {
        metadata.shift_remove(field);
    }
    for (map, keys) in
        [("labels", &[RELEASE_LABEL][..]), ("annotations", &[WORKLOAD_ANNOTATION, HASH_ANNOTATION][..])]
    {
        if let Some(map) = metadata.get_mut(map).and_then(Value::as_object_mut) {
            keys.iter().for_each(|key| {
                map.shift_remove(*key);
            });
        }
    }
}

/// The finding of a refusal, under the code of the guard rail that speaks of it; `None` if it will pass by itself.
fn refusal(object: &ObjectRef, error: &Error) -> Option<Finding> {
    let code = match error {
        Error::ApiMissing(_) => "G401",
        Error::NamespaceMissing(_) => "G108",
        Error::Invalid(_) => "G403",
        Error::ImmutableField(_) => "G406",
        Error::ApplyConflict { .. } | Error::Conflict(_) | Error::NotIdentical(_) => "G409",
        Error::PermissionDenied(_) => "G410",
        Error::AdmissionRejected(message) if message.contains("exceeded quota") => "G407",
        Error::AdmissionRejected(_) | Error::Unreadable(_) => "G404",
        _ => return None,
    };
    let (message, hint) = match error {
        Error::Conflict(owner) => (
            format!("{object} belongs to workload {owner:?} there."),
            "Remove it from one of the two workloads, or give it another name.",
        ),
        error => (format!("{object}: {error}."), error.hint()),
    };
    Some(Finding::error(code, message, hint).about(object.to_string()))
}
