//! The hooks that applying a bundle would run, and their runs for earlier revisions that it would end.

use domain::bundle::Bundle;
use domain::chart_object::annotation;
use domain::object::ObjectRef;
use domain::plan::{PlannedAction, PlannedChange, plan_hooks};

use super::DryRunContext;
use crate::api::ServedKind;
use crate::applied_release::{AppliedRelease, HookBundle, HookPhase, HookProgress};
use crate::desired_object::{HOOK_RUN_ANNOTATION, PreparedBundle};
use crate::error::Error;
use crate::observe::LiveObject;
use crate::release::{has_ended, runs_to_completion};

impl DryRunContext<'_> {
    /// The hooks that applying this bundle would run. One that still runs for an earlier revision is ended before, also if it does not run
    /// again. What happens to a hook that the bundle no longer has is planned like every object that it no longer has.
    pub(super) async fn plan_hook_runs(
        self,
        bundle: &Bundle,
        prepared: &PreparedBundle,
    ) -> Vec<PlannedChange> {
        let Some(progress) = next_progress(bundle, self.record) else { return Vec::new() };
        let events = [HookPhase::Before, HookPhase::After].map(|phase| progress.operation.event(phase));
        let mut planned: Vec<PlannedChange> = plan_hooks(&bundle.hooks, events).collect();
        for hook in &prepared.hooks {
            let object = &hook.desired.object;
            let is_current = |run: &str| {
                let mut own = events.iter().filter(|event| hook.hook.events.contains(event));
                own.any(|event| progress.run_id(*event, &hook.desired.hash) == run)
            };
            match self.find_active_run(object).await {
                Ok(None) => {}
                Ok(Some(run)) if is_current(&run) => {}
                Ok(Some(_)) => mark_superseded(&mut planned, object),
                Err(error) => mark_unknown(&mut planned, object, &error),
            }
        }
        planned
    }

    /// The id of the run whose object is on the cluster and has not ended. A copied annotation is none: the release must have applied
    /// the object.
    async fn find_active_run(self, object: &ObjectRef) -> Result<Option<String>, Error> {
        let entry = self.find_entry(object).filter(|_| runs_to_completion(object));
        let (Some(entry), Some(release), Some(resource)) = (entry, self.release, self.kinds.resolve(object))
        else {
            return Ok(None);
        };
        let path = ServedKind::object_path(resource, &object.namespace, &object.name);
        let value = match self.api.get(&path).await {
            Ok(value) => value,
            Err(Error::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let live = LiveObject::from_value(&value);
        let run = annotation(&value, HOOK_RUN_ANNOTATION);
        let is_active = !run.is_empty()
            && !live.deleting
            && !has_ended(&value)
            && live.is_applied_by(release, &entry.uid);
        Ok(is_active.then(|| run.to_owned()))
    }
}

/// The progress of the hooks of this bundle; `None` if none of them would run.
fn next_progress(bundle: &Bundle, record: Option<&AppliedRelease>) -> Option<HookProgress> {
    let is_installed = record.is_some_and(AppliedRelease::has_objects);
    let known = record.and_then(|record| record.hooks.as_ref());
    let digest = bundle.digest();
    let hooks = HookBundle {
        digest: &digest,
        has_hooks: !bundle.hooks.is_empty(),
        generation: 0,
        has_objects: is_installed,
    };
    HookProgress::for_bundle(known, hooks).filter(|progress| !progress.finished)
}

fn mark_superseded(planned: &mut Vec<PlannedChange>, object: &ObjectRef) {
    match planned.iter_mut().find(|change| change.object.is_same_object(object)) {
        Some(change) => {
            change.action = PlannedAction::Replace { fields: Vec::new(), omitted: 0 };
            change.unverified =
                format!("{} It still runs for an earlier revision, and is ended first.", change.unverified);
        }
        None => planned.push(PlannedChange::unverified(
            object.clone(),
            PlannedAction::Delete,
            "It is a hook of the chart that still runs for an earlier revision, and is ended.",
        )),
    }
}

fn mark_unknown(planned: &mut [PlannedChange], object: &ObjectRef, error: &Error) {
    for change in planned.iter_mut().filter(|change| change.object.is_same_object(object)) {
        change.unverified = format!(
            "{} Whether it still runs for an earlier revision is unknown: {error}.",
            change.unverified
        );
    }
}
