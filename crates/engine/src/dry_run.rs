//! What an apply would change, asked of the API server itself with `dryRun=All`: admission, defaults and conflicts
//! included. Nothing is written.

use std::sync::Arc;

use domain::bundle::Bundle;
use domain::finding::Finding;
use domain::object::ObjectRef;
use domain::plan::{FieldChange, diff};
use domain::policy::{ConflictPolicy, Policies, UpdateStrategy};
use domain::report::{Goal, Want};
use domain::{Digest, ReleaseId};
use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use crate::api::{Api, Force, Resource};
use crate::discovery::Kinds;
use crate::error::Error;
use crate::release::Context;
use crate::rules::{Rule, Rules};
use crate::wanted::{HASH_ANNOTATION, Prepared, RELEASE_LABEL, WORKLOAD_ANNOTATION, Wanted};

/// Position, object, and what would change.
type Answer = (u32, ObjectRef, Result<Vec<FieldChange>, Finding>);

/// One answer per object, in the order of the bundle.
pub(crate) async fn run(
    cx: &Context,
    release: Option<ReleaseId>,
    bundle: &Bundle,
    policies: Policies,
) -> Vec<(ObjectRef, Result<Vec<FieldChange>, Finding>)> {
    let kinds = cx.discovery.refresh().await.unwrap_or_else(|_| cx.discovery.kinds());
    let prepared = prepare(cx, release, bundle);
    let force = if policies.conflict == ConflictPolicy::TakeOver { Force::Yes } else { Force::No };
    let (api, rules) = (cx.api.acting_as(policies.executor()), Rules::of(&policies));
    let asking = Asking { api: &api, kinds: &kinds, force };
    let all: Vec<_> = prepared
        .objects
        .iter()
        .map(|wanted| answer(&asking, wanted, rules.about(&policies, &wanted.object)))
        .collect();
    let mut answers: Vec<Answer> =
        stream::iter(all).buffer_unordered(cx.options.concurrency.max(1)).collect().await;
    answers.sort_by_key(|(ordinal, ..)| *ordinal);
    let made = |namespace: &str| {
        let own = |o: &ObjectRef| o.kind == "Namespace" && o.name == namespace;
        policies.create_namespace || bundle.refs().any(|object| own(&object))
    };
    for (_, object, answer) in &mut answers {
        // An object in a namespace that will be made can't be tried, and that is no fault.
        if matches!(answer, Err(finding) if finding.code == "NamespaceMissing") && made(&object.namespace) {
            *answer = Ok(vec![FieldChange { path: String::new(), wanted: None, live: None }]);
        }
    }
    answers.into_iter().map(|(_, object, answer)| (object, answer)).collect()
}

fn prepare(cx: &Context, release: Option<ReleaseId>, bundle: &Bundle) -> Prepared {
    let workload = release.and_then(|release| cx.records.get(release)).map(|record| record.workload.clone());
    let digest = Digest::of(b"");
    let want = Want {
        // A release that does not exist yet: the label is not compared below.
        release: release.unwrap_or_else(|| ReleaseId::from_parts(0, 0)),
        workload: workload.unwrap_or_default(),
        generation: 0,
        sync_nonce: 0,
        goal: Goal::Present { bundle: digest.clone(), revision: 0, policies: Policies::default() },
    };
    Prepared::new(&want, digest, bundle)
}

/// Who is asked, and how.
struct Asking<'a> {
    api: &'a Api,
    kinds: &'a Arc<Kinds>,
    force: Force,
}

async fn answer(asking: &Asking<'_>, wanted: &Wanted, rule: Rule<'_>) -> Answer {
    let changes = one(asking, wanted, &rule).await.map_err(|error| finding(wanted, &error));
    (wanted.ordinal, wanted.object.clone(), changes)
}

async fn one(asking: &Asking<'_>, wanted: &Wanted, rule: &Rule<'_>) -> Result<Vec<FieldChange>, Error> {
    let Asking { api, kinds, force } = *asking;
    let Some(resource) = kinds.of(&wanted.object) else {
        return Err(Error::ApiMissing(format!("{} ({})", wanted.object.kind, wanted.object.api_version())));
    };
    let path = Resource::object(resource, &wanted.object.namespace, &wanted.object.name);
    let live = match api.get(&path).await {
        Ok(live) => Some(live),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error),
    };
    match (rule.strategy, &live) {
        (UpdateStrategy::ServerSideApply, _) | (UpdateStrategy::CreateOnly, None) => {}
        (UpdateStrategy::ReadOnly, None) => return Err(Error::ObjectAwaited(wanted.object.to_string())),
        (_, Some(_)) => return Ok(Vec::new()),
    }
    let mut after = api.apply(&path, wanted.body(live.as_ref(), rule, false), force, true).await?.object;
    let Some(mut live) = live else {
        return Ok(vec![FieldChange { path: String::new(), wanted: Some(wanted.value()), live: None }]);
    };
    for object in [&mut after, &mut live] {
        without_marks(object);
    }
    Ok(diff(&after, &live))
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

fn finding(wanted: &Wanted, error: &Error) -> Finding {
    Finding::error(error.label(), format!("{}: {error}.", wanted.object), error.hint())
        .about(wanted.object.to_string())
}
