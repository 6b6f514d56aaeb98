//! What a user can do about an entry of the drift inbox, and why something is not possible. Hub, console and command line call the same
//! function.

use super::actions::check_sync;
use super::authorization::{UserAction, authorize};
use crate::model::action_unavailable::ActionUnavailable;
use crate::model::drift::{DriftItem, DriftPossibility, DriftVerb};
use crate::model::role::Role;
use crate::model::workload::{Intent, WorkloadHead};

/// Where the manifests of the draft come from, as far as a list knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestOrigin {
    /// From files of the draft.
    Files,
    /// From a chart.
    Chart,
    /// From a commit or an artifact.
    Remote,
}

impl DriftVerb {
    /// The action that it needs.
    pub const fn action(self) -> UserAction {
        match self {
            Self::Revert => UserAction::Sync,
            Self::AdoptBase | Self::AdoptOverride | Self::Ignore => UserAction::Edit,
            Self::Snooze => UserAction::SnoozeDrift,
        }
    }
}

/// Everything that a user with this role can do about an entry; `None` for the system, which may do everything.
pub fn list_possibilities(
    item: &DriftItem,
    workload: &WorkloadHead,
    origin: ManifestOrigin,
    role: Option<Role>,
) -> Vec<DriftPossibility> {
    let possibility = |verb: &DriftVerb| {
        let refusal = role.and_then(|role| authorize(role, verb.action()).err()).map(|why| why.to_string());
        let unavailable = refusal.or_else(|| {
            let checked = check_verb(item, workload, origin, *verb);
            checked.err().map(|why| why.to_string())
        });
        DriftPossibility { verb: *verb, unavailable }
    };
    DriftVerb::ALL.iter().map(possibility).collect()
}

/// Whether something can be done about an entry, whoever does it.
///
/// # Errors
/// The workload, the object or the origin of its manifests does not allow it.
pub fn check_verb(
    item: &DriftItem,
    workload: &WorkloadHead,
    origin: ManifestOrigin,
    verb: DriftVerb,
) -> Result<(), ActionUnavailable> {
    match verb {
        DriftVerb::Revert => return check_sync(workload),
        DriftVerb::Snooze => return Ok(()),
        DriftVerb::AdoptBase | DriftVerb::AdoptOverride | DriftVerb::Ignore => {}
    }
    let is_adopted = verb != DriftVerb::Ignore;
    let unavailable = |why: String| Err(ActionUnavailable(why));
    let name = &workload.name;
    match origin {
        _ if workload.intent == Intent::Deleting => unavailable(format!("{name} is being deleted.")),
        _ if item.is_remainder() => unavailable(
            "This entry counts further objects of the release: decide about those that are listed first."
                .to_owned(),
        ),
        _ if item.is_missing() => {
            unavailable(format!("{} is missing on {}: revert creates it again.", item.object, item.cluster))
        }
        _ if is_adopted && item.object.kind == "Secret" => unavailable(format!(
            "The values of {} are not reported, because it is a Secret: change the draft by hand.",
            item.object
        )),
        ManifestOrigin::Chart if verb == DriftVerb::AdoptBase => unavailable(format!(
            "The manifests of {name} come from a chart: change its values, or adopt into the override of this cluster."
        )),
        ManifestOrigin::Remote if verb == DriftVerb::AdoptBase => unavailable(format!(
            "The manifests of {name} come from a repository: change them there, or adopt into the override of this cluster."
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::digest::Digest;
    use crate::kubernetes::id::{DriftId, WorkloadId};
    use crate::kubernetes::object::ObjectRef;
    use crate::kubernetes::time::Timestamp;
    use crate::model::drift::DriftState;
    use crate::model::policy::DriftPolicy;

    fn item(kind: &str, field_count: u32) -> DriftItem {
        DriftItem {
            id: DriftId::from_parts(1, 1),
            workload: "web".to_owned(),
            workload_version: 1,
            cluster: "eu-1".to_owned(),
            object: ObjectRef { kind: kind.to_owned(), name: "settings".to_owned(), ..ObjectRef::default() },
            state: DriftState::Open,
            since: Timestamp::from_millis(0),
            policy: DriftPolicy::Notify,
            contested: false,
            fields: Vec::new(),
            field_count,
            digest: Digest::compute(b""),
            applied_revision: Some(1),
            desired_revision: Some(1),
            snooze: None,
            revert: None,
            can: Vec::new(),
        }
    }

    fn head(intent: Intent) -> WorkloadHead {
        WorkloadHead {
            id: WorkloadId::from_parts(1, 1),
            name: "web".to_owned(),
            intent,
            published: Some(1),
            revision: 1,
        }
    }

    /// The verbs that are possible, by their names.
    fn possible(item: &DriftItem, origin: ManifestOrigin, role: Role) -> Vec<&'static str> {
        let list = list_possibilities(item, &head(Intent::Published), origin, Some(role));
        list.iter().filter(|one| one.unavailable.is_none()).map(|one| one.verb.into()).collect()
    }

    #[test]
    fn a_role_may_do_about_drift_what_it_may_do_elsewhere() {
        let one = item("ConfigMap", 1);
        assert_eq!(possible(&one, ManifestOrigin::Files, Role::Viewer), [""; 0]);
        let editor = ["adoptBase", "adoptOverride", "ignore", "snooze"];
        assert_eq!(possible(&one, ManifestOrigin::Files, Role::Editor), editor);
        assert_eq!(possible(&one, ManifestOrigin::Files, Role::Publisher).len(), DriftVerb::ALL.len());
    }

    #[test]
    fn what_the_object_or_its_origin_does_not_allow_is_refused_with_the_way_that_remains() {
        let admin = |item: &DriftItem, origin| possible(item, origin, Role::Admin);
        let one = item("ConfigMap", 1);
        assert_eq!(admin(&one, ManifestOrigin::Remote), ["revert", "adoptOverride", "ignore", "snooze"]);
        let mut secret = item("Secret", 1);
        for group in ["", "x.test"] {
            secret.object.group = group.to_owned();
            assert_eq!(admin(&secret, ManifestOrigin::Files), ["revert", "ignore", "snooze"], "{group}");
        }
        assert_eq!(admin(&item("ConfigMap", 0), ManifestOrigin::Files), ["revert", "snooze"]);
        let deleting = list_possibilities(&one, &head(Intent::Deleting), ManifestOrigin::Files, None);
        let ignore = deleting.iter().find(|one| one.verb == DriftVerb::Ignore).unwrap();
        assert_eq!(ignore.unavailable.as_deref(), Some("web is being deleted."));
        let chart = check_verb(&one, &head(Intent::Published), ManifestOrigin::Chart, DriftVerb::AdoptBase);
        assert!(chart.unwrap_err().0.contains("adopt into the override of this cluster"));
    }
}
