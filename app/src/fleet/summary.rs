//! The fleet in one sentence: what is wrong, since when, the last change.

use domain::event::EventKind;
use domain::fleet::FleetStatus;
use leptos::prelude::*;

use crate::components::{StateGroup, pluralize, unbroken_durations};
use crate::events::EventSummary;
use crate::live;

/// The heading of the page.
#[component]
pub fn FleetSummary(
    /// The present state.
    fleet: FleetStatus,
    /// The last change that a user made.
    last_change: Option<EventSummary>,
) -> impl IntoView {
    let now = live::server_now(fleet.read_at);
    let lead = {
        let fleet = fleet.clone();
        move || unbroken_durations(&headline(&fleet, now.get()))
    };
    let rest = move || unbroken_durations(&details(&fleet, last_change.as_ref(), now.get()));
    view! {
        <h1 class="title">
            {lead} " " <span class="title-rest">{rest}</span>
        </h1>
    }
    .into_any()
}

fn headline(fleet: &FleetStatus, now: domain::Timestamp) -> String {
    let failing = StateGroup::Failing.count_releases(&fleet.counts);
    let blocked = StateGroup::Blocked.count_releases(&fleet.counts);
    let oldest = fleet.attention.iter().filter(|a| a.state.is_failing()).map(|a| a.since).min();
    let since = oldest.map(|since| format!(", the oldest for {}", since.format_age(now))).unwrap_or_default();
    if failing > 0 {
        return format!("{} failing{since}.", pluralize(failing, "release"));
    }
    if blocked > 0 {
        return format!("{} blocked{since}.", pluralize(blocked, "release"));
    }
    if fleet.rollouts_waiting > 0 {
        return format!("{} waiting for a user.", pluralize(fleet.rollouts_waiting, "rollout"));
    }
    let drifted = StateGroup::Drifted.count_releases(&fleet.counts);
    let moving =
        StateGroup::Moving.count_releases(&fleet.counts) + StateGroup::Removing.count_releases(&fleet.counts);
    if drifted > 0 {
        return format!("{} drifted.", pluralize(drifted, "release"));
    }
    if moving > 0 {
        return format!("Nothing is failing, {} in progress.", pluralize(moving, "release"));
    }
    match (fleet.counts.healthy(), fleet.counts.targeted()) {
        (_, 0) => "Nothing is deployed yet.".to_owned(),
        (0, all) if StateGroup::Unknown.count_releases(&fleet.counts) == all => {
            "No cluster with a release is reporting.".to_owned()
        }
        (1, 1) => "The one release is healthy.".to_owned(),
        (n, all) if n == all => format!("All {n} releases are healthy."),
        (1, all) => format!("1 of {all} releases is healthy."),
        (n, all) => format!("{n} of {all} releases are healthy."),
    }
}

fn details(fleet: &FleetStatus, last_change: Option<&EventSummary>, now: domain::Timestamp) -> String {
    let silent = match fleet.clusters_not_online {
        0 => String::new(),
        n => format!("{} not reporting. ", pluralize(n, "cluster")),
    };
    let last = last_change.and_then(|event| {
        let verb = change_verb(event.kind)?;
        let EventSummary { subject, actor, at, .. } = event;
        Some(format!("Last change: {subject} {verb} by {actor} {} ago.", at.format_age(now)))
    });
    format!("{silent}{}", last.unwrap_or_default())
}

/// The verb of a user's change of what runs; `None` for other events. The edit of a cluster or of a group changes no workload by itself,
/// and the event of a group has no subject.
const fn change_verb(kind: EventKind) -> Option<&'static str> {
    match kind {
        EventKind::WorkloadPublished => Some("published"),
        EventKind::WorkloadUnpublished => Some("unpublished"),
        EventKind::WorkloadDeleting => Some("deleted"),
        _ => None,
    }
}

/// Whether a user changed what runs.
#[cfg(feature = "ssr")]
pub(super) const fn is_user_change(kind: EventKind) -> bool {
    change_verb(kind).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::release::ReleaseState;

    fn fleet(states: &[ReleaseState]) -> FleetStatus {
        FleetStatus { counts: states.iter().copied().collect(), ..FleetStatus::default() }
    }

    #[test]
    fn failing_releases_come_before_everything_else() {
        let fleet = fleet(&[
            ReleaseState::Healthy,
            ReleaseState::Failed,
            ReleaseState::Degraded,
            ReleaseState::Drifted,
            ReleaseState::Pending,
        ]);
        assert_eq!(headline(&fleet, fleet.read_at), "2 releases failing.");
    }

    #[test]
    fn a_rollout_that_waits_for_a_user_comes_before_automatic_progress() {
        let fleet =
            FleetStatus { rollouts_waiting: 1, ..fleet(&[ReleaseState::Healthy, ReleaseState::Pending]) };
        assert_eq!(headline(&fleet, fleet.read_at), "1 rollout waiting for a user.");
    }

    fn change(kind: EventKind, subject: &str) -> EventSummary {
        EventSummary {
            seq: 1,
            at: domain::Timestamp::default(),
            kind,
            severity: domain::Severity::Note,
            state: None,
            connectivity: None,
            subject: subject.to_owned(),
            actor: "ann".to_owned(),
            message: "Group edge was saved.".to_owned(),
            href: String::new(),
        }
    }

    #[test]
    fn the_last_change_names_the_workload_that_changed() {
        let (fleet, now) = (fleet(&[]), domain::Timestamp::default().plus_millis(5_000));
        let published = change(EventKind::WorkloadPublished, "shop");
        assert_eq!(details(&fleet, Some(&published), now), "Last change: shop published by ann 5 s ago.");
    }

    #[test]
    fn the_edit_of_a_group_is_no_change_of_the_fleet() {
        let saved = change(EventKind::ClusterEdited, "");
        assert_eq!(details(&fleet(&[]), Some(&saved), domain::Timestamp::default()), "");
    }

    #[test]
    fn a_fleet_without_problems_is_summarized_by_its_health() {
        let at = domain::Timestamp::default();
        assert_eq!(
            headline(&fleet(&[ReleaseState::Healthy, ReleaseState::Healthy]), at),
            "All 2 releases are healthy."
        );
        assert_eq!(
            headline(&fleet(&[ReleaseState::Healthy, ReleaseState::Unknown]), at),
            "1 of 2 releases is healthy."
        );
        assert_eq!(headline(&fleet(&[]), at), "Nothing is deployed yet.");
    }
}
