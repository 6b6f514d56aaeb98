//! Computes the changes of a desired release with `dryRun=All` requests: admission, defaulting and conflicts included
//! (G404). Nothing is written.

use std::collections::HashMap;

use domain::bundle::Bundle;
use domain::chart_hook::HookEvent;
use domain::finding::Finding;
use domain::helm_release::HelmRelease;
use domain::object::ObjectRef;
use domain::plan::{ClusterPlan, PlannedAction, PlannedChange, diff, mark_late_deletions, plan_hooks};
use domain::policy::{
    ConflictPolicy, DeletionPolicy, DriftPolicy, HelmReleasePolicy, Policies, UpdateStrategy,
};
use domain::report::{DesiredPhase, DesiredRelease};
use domain::{Digest, ReleaseId};
use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use self::comparison::{is_same_version, plan_field_changes, remove_ownership_fields};
use crate::api::{ApiClient, ForceConflicts, ServedKind};
use crate::applied_release::{AppliedRelease, InventoryEntry};
use crate::desired_object::{DesiredObject, PreparedBundle};
use crate::discovery::ServedKinds;
use crate::error::Error;
use crate::object_policy::{ObjectPolicies, ObjectPolicy};
use crate::observe::LiveObject;
use crate::release::{
    EngineContext, ObjectInput, can_replace, check_identical, defined_kinds, explain_rejection,
    is_job_complete, name_immutable_fields,
};

mod comparison;
mod hooks;
mod removals;

/// How often the dry run of one object is tried while others write the object.
const MAX_DRY_RUNS: u32 = 3;

/// Why the dry run of one object has no result.
enum DryRunError {
    /// Another workload owns the object.
    OwnedByWorkload(String),
    /// A request failed.
    Request(Error),
}

impl From<Error> for DryRunError {
    fn from(error: Error) -> Self {
        Self::Request(error)
    }
}

/// The release that a dry run is for.
#[derive(Clone, Copy)]
pub(crate) struct PlannedRelease<'a> {
    /// Name of its workload.
    pub workload: &'a str,
    /// Its id; `None` if it did not exist when the dry run was requested. It may exist by now.
    pub release: Option<ReleaseId>,
}

/// Inputs of one dry run.
#[derive(Clone, Copy)]
struct DryRunContext<'a> {
    cx: &'a EngineContext,
    api: &'a ApiClient,
    kinds: &'a ServedKinds,
    /// Kinds defined by the bundle itself.
    defined_kinds: &'a HashMap<(String, String), ServedKind>,
    release: Option<ReleaseId>,
    /// Name of its workload.
    workload: &'a str,
    record: Option<&'a AppliedRelease>,
    policies: &'a Policies,
    /// The record of the Helm release, if one is kept.
    helm_release: Option<&'a HelmRelease>,
    /// Why the autoscalers of the cluster are unknown, if they are.
    unknown_autoscalers: Option<&'a Error>,
    /// Whether the reconciliation would create this namespace first.
    creates_namespace: &'a (dyn Fn(&str) -> bool + Sync),
}

/// The changes that applying this bundle would cause.
pub(crate) async fn plan_present(
    cx: &EngineContext,
    PlannedRelease { workload, release }: PlannedRelease<'_>,
    bundle: &Bundle,
    policies: &Policies,
) -> ClusterPlan {
    let kinds = cx.discovery.refresh().await.unwrap_or_else(|_| cx.discovery.kinds());
    let record = release.and_then(|release| cx.applied_releases.get(release));
    let prepared = prepare_bundle(release, record.as_deref(), bundle);
    let policies = &policies.with_chart_crds(prepared.chart_crds());
    let api = cx.api.impersonating(policies.executor());
    let rules = ObjectPolicies::new(policies, &cx.observed.cluster).with_record(
        policies,
        &prepared,
        record.as_deref(),
    );
    let defined = defined_kinds(&prepared.objects);
    let is_it = |o: &ObjectRef, namespace: &str| o.kind == "Namespace" && o.name == namespace;
    let made = |namespace: &str| {
        policies.create_namespace || bundle.object_refs().any(|object| is_it(&object, namespace))
    };
    let autoscalers = cx.observed.cluster.resources.wait_for_autoscalers().await;
    let dry_run = DryRunContext {
        cx,
        api: &api,
        kinds: &kinds,
        defined_kinds: &defined,
        release,
        workload,
        record: record.as_deref(),
        policies,
        helm_release: bundle.helm_release.as_ref(),
        unknown_autoscalers: autoscalers.as_ref().err(),
        creates_namespace: &made,
    };
    let all: Vec<_> = prepared
        .objects
        .iter()
        .map(|desired| dry_run.plan_object(desired, rules.for_object(policies, &desired.object)))
        .collect();
    let mut results: Vec<(u32, PlannedChange, Option<Finding>)> =
        stream::iter(all).buffer_unordered(cx.options.concurrency.max(1)).collect().await;
    results.sort_by_key(|(ordinal, ..)| *ordinal);
    let mut findings: Vec<Finding> = results.iter_mut().filter_map(|(.., finding)| finding.take()).collect();
    let mut objects: Vec<PlannedChange> = results.into_iter().map(|(_, change, _)| change).collect();
    if let Some(record) = record.as_deref().filter(|_| policies.prune) {
        let is_desired = |entry: &&InventoryEntry| {
            let mut desired = bundle.object_refs().chain(bundle.hook_refs());
            let mut release = bundle.helm_release.iter();
            desired.any(|object| object.is_same_object(&entry.object))
                || release.any(|release| release.is_revision(&entry.object))
        };
        let obsolete: Vec<&InventoryEntry> =
            record.resources.iter().filter(|entry| !is_desired(entry)).collect();
        for (change, finding) in dry_run.plan_removals(&obsolete, DeletionPolicy::Foreground).await {
            objects.push(change);
            findings.extend(finding);
        }
        mark_late_deletions(&mut objects, policies, bundle.has_pods());
    }
    objects.extend(dry_run.plan_hook_runs(bundle, &prepared).await);
    ClusterPlan { findings, ..ClusterPlan::from_changes(objects) }
}

/// The changes that a removal would cause: to the objects of the record and those that the release applied beside it.
pub(crate) async fn plan_absent(
    cx: &EngineContext,
    release: Option<ReleaseId>,
    deletion: DeletionPolicy,
    policies: &Policies,
) -> ClusterPlan {
    let Some(release) = release else { return ClusterPlan::default() };
    let record = cx.applied_releases.get(release);
    let mut inventory = record.as_ref().map(|record| record.resources.clone()).unwrap_or_default();
    cx.observed.complete_inventory(release, &mut inventory);
    let (kinds, defined) = (cx.discovery.kinds(), HashMap::new());
    let made = |_: &str| false;
    let dry_run = DryRunContext {
        cx,
        api: &cx.api,
        kinds: &kinds,
        defined_kinds: &defined,
        release: Some(release),
        workload: record.as_ref().map_or("", |record| &record.workload),
        record: record.as_deref(),
        policies,
        helm_release: None,
        unknown_autoscalers: None,
        creates_namespace: &made,
    };
    let entries: Vec<&InventoryEntry> = inventory.iter().collect();
    let removals = dry_run.plan_removals(&entries, deletion).await;
    let (mut changes, findings): (Vec<_>, Vec<_>) = removals.into_iter().unzip();
    if deletion != DeletionPolicy::Orphan {
        let hooks = record.as_ref().map_or(&[][..], |record| &record.removal_hooks);
        changes.extend(plan_hooks(hooks, [HookEvent::PreDelete, HookEvent::PostDelete]));
    }
    ClusterPlan { findings: findings.into_iter().flatten().collect(), ..ClusterPlan::from_changes(changes) }
}

fn prepare_bundle(
    release: Option<ReleaseId>,
    record: Option<&AppliedRelease>,
    bundle: &Bundle,
) -> PreparedBundle {
    let digest = Digest::compute(b"");
    let desired_release = DesiredRelease {
        // Placeholder for a release without an id yet; the label is not compared.
        release: release.unwrap_or_else(|| ReleaseId::from_parts(0, 0)),
        workload: record.map(|record| record.workload.clone()).unwrap_or_default(),
        generation: 0,
        sync_nonce: 0,
        phase: DesiredPhase::Present { bundle: digest.clone(), revision: 0, policies: Policies::default() },
    };
    PreparedBundle::new(&desired_release, digest, bundle)
}

impl DryRunContext<'_> {
    /// Position in the bundle, planned change and additional finding of one object.
    async fn plan_object(
        self,
        desired: &DesiredObject,
        rule: ObjectPolicy<'_>,
    ) -> (u32, PlannedChange, Option<Finding>) {
        if let Some(error) = self.unknown_autoscalers.filter(|_| desired.sets_replicas()) {
            // With the replicas of an autoscaler the dry run would be rejected or show a change that is not made.
            let outcome = self.compare_live(desired, &rule).await;
            let why = format!("Whether an autoscaler sets its replicas is unknown: {error}.");
            return (desired.ordinal, PlannedChange::unverified(desired.object.clone(), outcome, why), None);
        }
        let (change, finding) = match self.try_apply(desired, &rule).await {
            Ok(outcome) => {
                let finding = self.check_chart_crd(desired, &rule).await;
                (PlannedChange::verified(desired.object.clone(), outcome), finding)
            }
            Err(DryRunError::OwnedByWorkload(owner)) => {
                let object = desired.object.clone();
                let finding = ownership_finding(&object, &owner);
                (PlannedChange::verified(object, PlannedAction::Rejected { finding }), None)
            }
            Err(DryRunError::Request(error)) => self.plan_from_error(desired, &rule, &error).await,
        };
        (desired.ordinal, change, finding)
    }

    /// G412, if the definition of a chart is not changed although it differs.
    async fn check_chart_crd(self, desired: &DesiredObject, rule: &ObjectPolicy<'_>) -> Option<Finding> {
        if !desired.is_chart_crd || rule.strategy != UpdateStrategy::CreateOnly {
            return None;
        }
        let path = self.kinds.resolve(&desired.object)?.object_path("", &desired.object.name);
        let live = self.api.get(&path).await.ok()?;
        domain::plan::check_chart_crd(&desired.object, &desired.comparable_value(rule, &live), &live)
    }

    /// Tries the apply, and again if a writer changed the object between the read and the dry run: what it changed is no change of the
    /// revision. Of the last attempt the changes of others are planned too.
    async fn try_apply(
        self,
        desired: &DesiredObject,
        rule: &ObjectPolicy<'_>,
    ) -> Result<PlannedAction, DryRunError> {
        let mut attempt = 1;
        loop {
            let (planned, is_current) = self.try_apply_once(desired, rule).await?;
            if is_current || attempt == MAX_DRY_RUNS {
                return Ok(planned);
            }
            attempt += 1;
        }
    }

    /// The planned action, and whether it was compared with the object that the server applied the content to.
    async fn try_apply_once(
        self,
        desired: &DesiredObject,
        rule: &ObjectPolicy<'_>,
    ) -> Result<(PlannedAction, bool), DryRunError> {
        let object = &desired.object;
        let Some(resource) = self.kinds.resolve(object) else {
            let missing = format!("{} ({})", object.kind, object.api_version());
            return Err(Error::ApiMissing(missing).into());
        };
        let path = ServedKind::object_path(resource, &object.namespace, &object.name);
        let live = match self.api.get(&path).await {
            Ok(live) => Some(live),
            Err(Error::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        match (rule.strategy, &live) {
            (UpdateStrategy::ServerSideApply, _) | (UpdateStrategy::CreateOnly, None) => {}
            (UpdateStrategy::ReadOnly, None) => return Err(Error::ObjectAwaited(object.to_string()).into()),
            (_, Some(_)) => return Ok((PlannedAction::Unchanged, true)),
        }
        let found = live.as_ref().map(LiveObject::from_value);
        let owner = found.as_ref().and_then(LiveObject::applied_release);
        let is_owned = found.as_ref().is_some_and(|found| self.is_applied(object, found));
        let has_run = match (&live, &found) {
            (Some(live), Some(found)) => {
                is_owned && object.is_job() && found.hash == desired.hash && is_job_complete(live)
            }
            // It completed and was cleaned up.
            _ => self.is_recorded_as_completed(desired),
        };
        if has_run {
            return Ok((PlannedAction::Unchanged, true));
        }
        if let Some(other) = owner.filter(|owner| Some(*owner) != self.release) {
            self.check_owner(other)?;
        }
        let is_adopted = self.policies.helm_release == HelmReleasePolicy::Adopt
            && live.as_ref().is_some_and(|live| self.helm_release.is_some_and(|release| release.owns(live)));
        let is_unchanged =
            is_owned && found.as_ref().is_some_and(|found| self.is_unchanged(desired, rule, found));
        if is_unchanged && self.policies.drift == DriftPolicy::Notify {
            return Ok((PlannedAction::Unchanged, true));
        }
        let force = if self.policies.conflict == ConflictPolicy::Force || is_adopted || is_unchanged {
            ForceConflicts::Yes
        } else {
            ForceConflicts::No
        };
        if let (Some(live), None, ConflictPolicy::IfIdentical, false) =
            (&live, owner, self.policies.conflict, is_adopted || is_owned)
        {
            check_identical(ObjectInput { desired, policy: rule }, live)?;
        }
        let body = desired.apply_body(live.as_ref(), rule, false);
        let after = match (self.api.apply(&path, body, force, true).await, &live) {
            (Err(error @ Error::ImmutableField { .. }), Some(live)) => {
                let planned =
                    self.plan_immutable_change(ObjectInput { desired, policy: rule }, live, error, is_owned);
                return planned.map(|planned| (planned, true)).map_err(DryRunError::Request);
            }
            (Err(error @ Error::Invalid(_)), Some(_)) => {
                return Err(explain_rejection(&self.cx.api, resource, error).await.into());
            }
            (applied, _) => applied?.object,
        };
        let Some(live) = live else { return Ok((PlannedAction::Create, true)) };
        let is_current = is_same_version(&after, &live);
        Ok((plan_field_changes(after, live), is_current))
    }

    /// Whether the release applied this content before, without a scaler that this bundle drops, and under policies that left the same
    /// fields to others. What differs on the cluster is drift then, and no change of the revision: it is reverted with force, or left.
    fn is_unchanged(self, desired: &DesiredObject, rule: &ObjectPolicy<'_>, live: &LiveObject) -> bool {
        let entry = self.find_entry(&desired.object);
        let is_recorded = entry.is_some_and(|entry| entry.hash == desired.hash && entry.uid == live.uid);
        let is_known = self.record.is_some_and(|record| record.left_fields_recorded);
        let takes_back = rule.takes_fields_back(entry) || desired.drops_scaler(rule);
        is_known && !takes_back && (live.hash == desired.hash || is_recorded)
    }

    /// A replacement of the object if the reconciliation would replace it, otherwise the error with all immutable fields.
    fn plan_immutable_change(
        self,
        input: ObjectInput<'_>,
        live: &Value,
        error: Error,
        is_owned: bool,
    ) -> Result<PlannedAction, Error> {
        if !is_owned || !can_replace(self.policies.changed_jobs, &input.desired.object, &error) {
            return Err(name_immutable_fields(error, input, live));
        }
        let (mut after, mut before) = (input.desired.comparable_value(input.policy, live), live.clone());
        remove_ownership_fields(&mut after);
        remove_ownership_fields(&mut before);
        let fields = diff(&after, &before);
        Ok(match PlannedAction::from_field_changes(fields).into_replacement() {
            PlannedAction::Unchanged => PlannedAction::Replace { fields: Vec::new(), omitted: 0 },
            replacement => replacement,
        })
    }

    fn is_recorded_as_completed(self, desired: &DesiredObject) -> bool {
        let entry = self.find_entry(&desired.object);
        entry.is_some_and(|entry| entry.completed && entry.hash == desired.hash)
    }

    /// Whether the release applied this live object, as the reconciliation decides it.
    fn is_applied(self, object: &ObjectRef, live: &LiveObject) -> bool {
        let recorded = self.find_entry(object).map_or("", |entry| entry.uid.as_str());
        self.release.is_some_and(|release| live.is_applied_by(release, recorded))
    }

    /// What the record has about an object.
    fn find_entry(&self, object: &ObjectRef) -> Option<&InventoryEntry> {
        let entries = self.record.map(|record| record.resources.as_slice()).unwrap_or_default();
        entries.iter().find(|entry| entry.object.is_same_object(object))
    }

    /// Fails if another desired release owns the object, or if the conflict policy is to abort.
    fn check_owner(self, other: ReleaseId) -> Result<(), DryRunError> {
        if !self.cx.workers.is_desired(other) && self.policies.conflict != ConflictPolicy::Abort {
            return Ok(());
        }
        let workload = self.cx.applied_releases.get(other).map(|record| record.workload.clone());
        // A publish placed the release after the request.
        if self.release.is_none() && workload.as_deref() == Some(self.workload) {
            return Ok(());
        }
        Err(DryRunError::OwnedByWorkload(workload.unwrap_or_else(|| other.to_string())))
    }

    /// Maps an error to a rejected change, or to an untried one if no dry run was possible.
    async fn plan_from_error(
        self,
        desired: &DesiredObject,
        rule: &ObjectPolicy<'_>,
        error: &Error,
    ) -> (PlannedChange, Option<Finding>) {
        let object = desired.object.clone();
        let defined = || self.defined_kinds.contains_key(&(object.group.clone(), object.kind.clone()));
        let why = match error {
            Error::ApiMissing(_) if defined() => {
                "Its kind is defined by this workload and does not exist yet."
            }
            Error::NamespaceMissing(_) if (self.creates_namespace)(&object.namespace) => {
                "Its namespace is created first."
            }
            Error::Invalid(message) if message.contains("does not support dry run") => {
                let finding = Finding::warning(
                    "G405",
                    format!("{object} could not be dry-run: {message}."),
                    "The static checks passed; check this object after publishing.",
                );
                let outcome = self.compare_live(desired, rule).await;
                return (PlannedChange::unverified(object, outcome, message), Some(finding));
            }
            // Flotilla does not create observed objects.
            error @ Error::ObjectAwaited(_) => {
                return (
                    PlannedChange::unverified(object, PlannedAction::Unchanged, format!("{error}.")),
                    None,
                );
            }
            error => match rejection_finding(&object, error) {
                Some(finding) => {
                    return (PlannedChange::verified(object, PlannedAction::Rejected { finding }), None);
                }
                None => {
                    let outcome = self.compare_live(desired, rule).await;
                    return (PlannedChange::unverified(object, outcome, format!("{error}.")), None);
                }
            },
        };
        (PlannedChange::unverified(object, PlannedAction::Create, why), None)
    }

    /// The change computed from the live object without a dry run.
    async fn compare_live(self, desired: &DesiredObject, rule: &ObjectPolicy<'_>) -> PlannedAction {
        let Some(resource) = self.kinds.resolve(&desired.object) else { return PlannedAction::Create };
        let path = ServedKind::object_path(resource, &desired.object.namespace, &desired.object.name);
        match self.api.get(&path).await {
            Ok(mut live) => {
                let mut desired = desired.comparable_value(rule, &live);
                remove_ownership_fields(&mut desired);
                remove_ownership_fields(&mut live);
                PlannedAction::from_field_changes(diff(&desired, &live))
            }
            Err(_) => PlannedAction::Create,
        }
    }
}

/// The finding of a rejection, with the code of its guard rail; `None` if the error is transient.
fn rejection_finding(object: &ObjectRef, error: &Error) -> Option<Finding> {
    let code = match error {
        Error::ApiMissing(_) => "G401",
        Error::NamespaceMissing(_) => "G108",
        Error::Invalid(_) => "G403",
        Error::ImmutableField { .. } | Error::ChangeRefused(_) => "G406",
        Error::ApplyConflict { .. } | Error::NotIdentical(_) => "G409",
        Error::PermissionDenied(_) => "G410",
        Error::AdmissionRejected(message) if message.contains("exceeded quota") => "G407",
        Error::AdmissionRejected(_) | Error::Unreadable(_) => "G404",
        _ => return None,
    };
    let message = format!("{object}: {error}.");
    Some(Finding::error(code, message, error.hint()).with_object(object.to_string()))
}

fn ownership_finding(object: &ObjectRef, owner: &str) -> Finding {
    let message = format!("{object} belongs to workload {owner:?} on the cluster.");
    let hint = "Remove it from one of the two workloads, or rename it.";
    Finding::error("G409", message, hint).with_object(object.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g409_a_concurrent_change_is_not_a_conflict_of_owners() {
        let object = ObjectRef { version: "v1".into(), kind: "ConfigMap".into(), ..ObjectRef::default() };
        assert_eq!(rejection_finding(&object, &Error::Conflict("the object has been modified".into())), None);
        let fields = Error::ApplyConflict { managers: vec!["helm".into()], fields: vec![".data".into()] };
        assert_eq!(rejection_finding(&object, &fields).unwrap().code, "G409");
    }
}
