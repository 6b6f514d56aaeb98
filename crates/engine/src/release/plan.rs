//! The plan for one object: what is seen against what is wanted. Pure.

use domain::ReleaseId;
use domain::plan::{FieldChange, diff};
use domain::policy::UpdateStrategy;
use serde_json::Value;

use super::memory::ObjectMemory;
use crate::managed;
use crate::observe::Live;
use crate::record::Entry;
use crate::rules::Rule;
use crate::wanted::Wanted;

/// What has to be done about one object.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// It is as wanted.
    Settled,
    /// It ran to its end, or did and was cleaned away: it is not run again, and not updated any more.
    Completed,
    /// Somebody else has to make it.
    Awaited,
    /// It is not there and was not before.
    Create,
    /// It is there with older content of ours.
    Update,
    /// It was applied and is gone.
    Vanished,
    /// Somebody changed it.
    Drifted(Vec<FieldChange>),
    /// It is being deleted.
    Terminating,
    /// It carries the label of another release.
    Foreign(ReleaseId),
}

/// One object as it should be, and what the policies say about it.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub wanted: &'a Wanted,
    pub rule: &'a Rule<'a>,
}

/// Compares one object.
pub(crate) fn plan(
    release: ReleaseId,
    Asked { wanted, rule }: Asked<'_>,
    live: Option<&Live>,
    entry: Option<&Entry>,
    memory: &mut ObjectMemory,
) -> Step {
    let ran = entry.is_some_and(|entry| entry.hash == wanted.hash && entry.completed);
    match rule.strategy {
        UpdateStrategy::ServerSideApply => {}
        UpdateStrategy::ReadOnly => return live.map_or(Step::Awaited, |_| Step::Settled),
        UpdateStrategy::CreateOnly => {
            return match live {
                Some(live) if live.deleting && !ran => Step::Terminating,
                Some(_) => Step::Settled,
                None if ran => Step::Completed,
                None => Step::Create,
            };
        }
    }
    let Some(live) = live else {
        return match entry {
            _ if ran => Step::Completed,
            Some(entry) if entry.hash == wanted.hash && !entry.uid.is_empty() => Step::Vanished,
            _ => Step::Create,
        };
    };
    if let Some(other) = live.release.filter(|other| *other != release) {
        return Step::Foreign(other);
    }
    if live.deleting {
        return if ran { Step::Completed } else { Step::Terminating };
    }
    if wanted.object.kind == "Job" && has_completed(&live.value()) {
        return Step::Completed;
    }
    if memory.equal.as_ref().is_some_and(|(version, hash)| *version == live.version && *hash == wanted.hash) {
        return Step::Settled;
    }
    let applied =
        live.hash == wanted.hash || entry.is_some_and(|e| e.hash == wanted.hash && e.uid == live.uid);
    if !applied {
        return Step::Update;
    }
    let mut changes = drift(&wanted.compared(rule), &live.value(), &memory.own);
    changes.retain(|change| !rule.ignores(&change.path));
    if changes.is_empty() {
        memory.equal = Some((live.version.clone(), wanted.hash.clone()));
        return Step::Settled;
    }
    Step::Drifted(changes)
}

/// Whether a job ran to its end with success. One that failed is a failure that a new revision may mend.
pub(crate) fn has_completed(job: &Value) -> bool {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| one["type"] == "Complete" && one["status"] == "True")
}

/// The fields that somebody changed: those that differ, without those that the server itself writes differently.
fn drift(wanted: &Value, live: &Value, own: &[FieldChange]) -> Vec<FieldChange> {
    let mut changes = diff(wanted, live);
    changes.retain(|change| !own.contains(change) && !managed::is_ours(live, &change.path));
    changes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::bundle::Bundle;
    use domain::policy::{DeletionPolicy, Policies};
    use domain::report::{Goal, Want};
    use serde_json::json;

    use super::*;
    use crate::wanted::Prepared;

    fn release() -> ReleaseId {
        ReleaseId::from_parts(1, 1)
    }

    fn prepared(data: &str) -> Prepared {
        let want = Want {
            release: release(),
            workload: "shop".into(),
            generation: 1,
            sync_nonce: 0,
            goal: Goal::Absent { deletion: DeletionPolicy::Foreground, policies: Policies::default() },
        };
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"},
            "data": {"k": data}});
        let bundle = Arc::new(Bundle::new(vec![object]));
        Prepared::new(&want, bundle.digest(), &bundle)
    }

    fn live(wanted: &Wanted) -> Value {
        let mut value = wanted.value();
        value["metadata"]["uid"] = "u".into();
        value["metadata"]["resourceVersion"] = "5".into();
        value
    }

    fn entry(wanted: &Wanted) -> Entry {
        Entry {
            object: wanted.object.clone(),
            uid: "u".into(),
            hash: wanted.hash.clone(),
            ..Entry::default()
        }
    }

    fn step(wanted: &Wanted, live: Option<&Value>, entry: Option<&Entry>) -> Step {
        let live = live.map(Live::of);
        plan(
            release(),
            Asked { wanted, rule: &Rule::default() },
            live.as_ref(),
            entry,
            &mut ObjectMemory::default(),
        )
    }

    #[test]
    fn p26_an_object_that_is_as_wanted_needs_nothing() {
        let prepared = prepared("1");
        let wanted = &prepared.objects[0];
        assert_eq!(step(wanted, Some(&live(wanted)), None), Step::Settled);
    }

    #[test]
    fn an_object_is_created_updated_or_put_back_by_what_was_applied_before() {
        let (old, new) = (prepared("1"), prepared("2"));
        let (old, new) = (&old.objects[0], &new.objects[0]);
        assert_eq!(step(new, None, None), Step::Create);
        assert_eq!(step(new, None, Some(&entry(old))), Step::Create);
        assert_eq!(step(new, None, Some(&entry(new))), Step::Vanished);
        assert_eq!(step(new, Some(&live(old)), Some(&entry(old))), Step::Update);
    }

    #[test]
    fn p15_an_object_that_was_only_intended_is_not_called_vanished() {
        let prepared = prepared("1");
        let wanted = &prepared.objects[0];
        let intended = Entry { uid: String::new(), hash: String::new(), ..entry(wanted) };
        assert_eq!(step(wanted, None, Some(&intended)), Step::Create);
    }

    #[test]
    fn an_object_of_another_release_is_not_touched() {
        let prepared = prepared("1");
        let wanted = &prepared.objects[0];
        let other = ReleaseId::from_parts(9, 9);
        let mut value = live(wanted);
        value["metadata"]["labels"][crate::wanted::RELEASE_LABEL] = other.to_string().into();
        assert_eq!(step(wanted, Some(&value), None), Step::Foreign(other));
    }

    #[test]
    fn what_others_make_is_waited_for_and_what_is_only_made_is_never_changed() {
        let (old, new) = (prepared("1"), prepared("2"));
        let (old, new) = (&old.objects[0], &new.objects[0]);
        let step = |strategy, live: Option<&Value>| {
            let rule = Rule { strategy, ..Rule::default() };
            let live = live.map(Live::of);
            let asked = Asked { wanted: new, rule: &rule };
            plan(release(), asked, live.as_ref(), None, &mut ObjectMemory::default())
        };
        assert_eq!(step(UpdateStrategy::ReadOnly, None), Step::Awaited);
        assert_eq!(step(UpdateStrategy::ReadOnly, Some(&live(old))), Step::Settled);
        assert_eq!(step(UpdateStrategy::CreateOnly, None), Step::Create);
        assert_eq!(step(UpdateStrategy::CreateOnly, Some(&live(old))), Step::Settled);
        assert_eq!(step(UpdateStrategy::ServerSideApply, Some(&live(old))), Step::Update);
    }

    #[test]
    fn a_job_that_has_run_is_not_run_again() {
        let prepared = prepared("1");
        let wanted = &prepared.objects[0];
        let done = Entry { completed: true, ..entry(wanted) };
        assert_eq!(step(wanted, None, Some(&done)), Step::Completed);
    }
}
