//! The page's answer in words: what is wrong, since when, what changed.

use domain::event::EventKind;
use domain::fleet::Fleet;
use leptos::prelude::*;

use crate::components::{Group, count_of};
use crate::live;

/// The sentence.
#[component]
pub fn Sentence(fleet: Fleet) -> impl IntoView {
    let now = live::now(fleet.at);
    let lead = {
        let fleet = fleet.clone();
        move || lead(&fleet, now.get())
    };
    let rest = move || rest(&fleet, now.get());
    view! {
        <h1 class="title">
            {lead} " " <span class="title-rest">{rest}</span>
        </h1>
    }
    .into_any()
}

fn lead(fleet: &Fleet, now: domain::Timestamp) -> String {
    let failing = Group::Failing.count(&fleet.counts);
    let blocked = Group::Blocked.count(&fleet.counts);
    let oldest = fleet.attention.iter().filter(|a| a.state.is_failing()).map(|a| a.since).min();
    let since = oldest.map(|since| format!(", the oldest for {}", since.age(now))).unwrap_or_default();
    if failing > 0 {
        return format!("{} failing{since}.", count_of(failing, "release"));
    }
    if blocked > 0 {
        return format!("{} waiting for a person{since}.", count_of(blocked, "release"));
    }
    if fleet.rollouts_waiting > 0 {
        return format!("{} waiting for a person.", count_of(fleet.rollouts_waiting, "rollout"));
    }
    let (moving, drifted) = (Group::Moving.count(&fleet.counts), Group::Drifted.count(&fleet.counts));
    if drifted > 0 {
        return format!("{} drifted.", count_of(drifted, "release"));
    }
    if moving > 0 {
        return format!("Nothing is failing, {} on the way.", count_of(moving, "release"));
    }
    match (fleet.counts.healthy(), fleet.counts.targeted()) {
        (_, 0) => "Nothing runs yet.".to_owned(),
        (0, all) if Group::Unknown.count(&fleet.counts) == all => {
            "No cluster with a release is heard from.".to_owned()
        }
        (1, 1) => "The one release is healthy.".to_owned(),
        (n, all) if n == all => format!("All {n} releases are healthy."),
        (1, all) => format!("1 of {all} releases is healthy."),
        (n, all) => format!("{n} of {all} releases are healthy."),
    }
}

fn rest(fleet: &Fleet, now: domain::Timestamp) -> String {
    let silent = match fleet.clusters_silent {
        0 => String::new(),
        n => format!("{} not reporting. ", count_of(n, "cluster")),
    };
    let by_a_person = |kind| {
        matches!(
            kind,
            EventKind::WorkloadPublished
                | EventKind::WorkloadUnpublished
                | EventKind::WorkloadDeleting
                | EventKind::ClusterEdited
        )
    };
    let last = fleet.recent.iter().find(|event| by_a_person(event.kind));
    let last = last.map(|event| {
        let noun = if event.workload_name.is_empty() { &event.cluster_name } else { &event.workload_name };
        let verb = match event.kind {
            EventKind::WorkloadPublished => "published",
            EventKind::WorkloadUnpublished => "unpublished",
            EventKind::WorkloadDeleting => "deleted",
            _ => "edited",
        };
        format!("Last change: {noun} {verb} by {} {} ago.", event.actor, event.at.age(now))
    });
    format!("{silent}{}", last.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::release::State;

    fn fleet(states: &[State]) -> Fleet {
        Fleet { counts: states.iter().copied().collect(), ..Fleet::default() }
    }

    #[test]
    fn what_is_failing_is_said_before_anything_else() {
        let fleet = fleet(&[State::Healthy, State::Failed, State::Degraded, State::Drifted, State::Pending]);
        assert_eq!(lead(&fleet, fleet.at), "2 releases failing.");
    }

    #[test]
    fn a_rollout_that_waits_for_a_person_is_said_before_what_goes_by_itself() {
        let fleet = Fleet { rollouts_waiting: 1, ..fleet(&[State::Healthy, State::Pending]) };
        assert_eq!(lead(&fleet, fleet.at), "1 rollout waiting for a person.");
    }

    #[test]
    fn a_quiet_fleet_says_so() {
        let at = domain::Timestamp::default();
        assert_eq!(lead(&fleet(&[State::Healthy, State::Healthy]), at), "All 2 releases are healthy.");
        assert_eq!(lead(&fleet(&[State::Healthy, State::Unknown]), at), "1 of 2 releases is healthy.");
        assert_eq!(lead(&fleet(&[]), at), "Nothing runs yet.");
    }
}
