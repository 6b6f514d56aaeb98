//! The plan for one object: what is seen against what is wanted. Pure.

use domain::ReleaseId;
use domain::plan::{FieldChange, diff};
use serde_json::Value;

use super::memory::ObjectMemory;
use crate::managed;
use crate::observe::Live;
use crate::record::Entry;
use crate::wanted::Wanted;

/// What has to be done about one object.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// It is as wanted.
    Settled,
    /// It ran to its end and was cleaned away.
    Completed,
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

/// Compares one object.
pub(crate) fn plan(
    release: ReleaseId,
    wanted: &Wanted,
    live: Option<&Live>,
    entry: Option<&Entry>,
    memory: &mut ObjectMemory,
) -> Step {
    let Some(live) = live else {
        return match entry {
            Some(entry) if entry.hash == wanted.hash && entry.completed => Step::Completed,
            Some(entry) if entry.hash == wanted.hash && !entry.uid.is_empty() => Step::Vanished,
            _ => Step::Create,
        };
    };
    if let Some(other) = live.release.filter(|other| *other != release) {
        return Step::Foreign(other);
    }
    if live.deleting {
        return Step::Terminating;
    }
    if memory.equal.as_ref().is_some_and(|(version, hash)| *version == live.version && *hash == wanted.hash) {
        return Step::Settled;
    }
    let applied =
        live.hash == wanted.hash || entry.is_some_and(|e| e.hash == wanted.hash && e.uid == live.uid);
    if !applied {
        return Step::Update;
    }
    let changes = drift(&wanted.compared(), &live.value(), &memory.own);
    if changes.is_empty() {
        memory.equal = Some((live.version.clone(), wanted.hash.clone()));
        return Step::Settled;
    }
    Step::Drifted(changes)
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
    use domain::report::{Goal, Want};
    use domain::workload::DeletionPolicy;
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
            goal: Goal::Absent { deletion: DeletionPolicy::Foreground },
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
        plan(release(), wanted, live.as_ref(), entry, &mut ObjectMemory::default())
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
    fn a_job_that_has_run_is_not_run_again() {
        let prepared = prepared("1");
        let wanted = &prepared.objects[0];
        let done = Entry { completed: true, ..entry(wanted) };
        assert_eq!(step(wanted, None, Some(&done)), Step::Completed);
    }
}
