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
    let last = last_change.map(|event| {
        let verb = match event.kind {
            EventKind::WorkloadPublished => "published",
            EventKind::WorkloadUnpublished => "unpublished",
            EventKind::WorkloadDeleting => "deleted",
            _ => "edited",
        };
        format!("Last change: {} {verb} by {} {} ago.", event.subject, event.actor, event.at.format_age(now))
    });
    format!("{silent}{}", last.unwrap_or_default())
}

/// Whether a user changed what runs or where.
#[cfg(feature = "ssr")]
pub(super) const fn is_user_change(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::WorkloadPublished
            | EventKind::WorkloadUnpublished
            | EventKind::WorkloadDeleting
            | EventKind::ClusterEdited
    )
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
