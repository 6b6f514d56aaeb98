//! Rollouts by example: waves, failure limits, soak times and actions.

use std::collections::HashMap;

use serde_json::json;

use super::*;
use crate::kubernetes::time::Pauses;
use crate::model::cluster::{Cluster, ClusterKind};
use crate::model::placement::ClusterGroup;
use crate::model::release::ReleaseState;
use crate::text::finding::Finding;

mod approvals;
mod rollbacks;
mod silence;

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000_000);

pub(super) fn cluster(n: u32, labels: &[(&str, &str)]) -> Cluster {
    let id = crate::kubernetes::id::ClusterId::from_parts(1, u128::from(n));
    let mut cluster = Cluster::new(id, format!("c-{n}"), ClusterKind::Agent, NOW);
    cluster.labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    cluster
}

fn strategy(waves: serde_json::Value) -> RolloutStrategy {
    serde_json::from_value(json!({ "waves": waves })).unwrap()
}

/// A canary on one cluster with a soak time of ten minutes, then the rest, two at a time.
fn canary() -> RolloutStrategy {
    strategy(json!([
        { "name": "canary", "maxClusters": 1, "soak": "10m" },
        { "name": "rest", "maxConcurrency": 2, "maxFailures": 1 },
    ]))
}

fn rollout(strategy: RolloutStrategy) -> Rollout {
    Rollout { initialized: true, ..new_rollout(strategy) }
}

/// A rollout before its first step.
fn new_rollout(strategy: RolloutStrategy) -> Rollout {
    Rollout::new(WorkloadId::from_parts(1, 1), (Some(3), 4), strategy, NOW)
}

fn wave_counts(held: u32, moving: u32, operational: u32) -> WaveCounts {
    WaveCounts { gated: held, in_transition: moving, operational, ..WaveCounts::default() }
}

fn minutes(n: i64) -> Timestamp {
    NOW.plus_millis(n * 60_000)
}

fn event_messages(step: &RolloutStep, at: Timestamp) -> Vec<String> {
    step.events.iter().map(|event| event.message("web", 4, at)).collect()
}

fn assigned_waves(
    strategy: &RolloutStrategy,
    fleet: &[Cluster],
    groups: &[ClusterGroup],
) -> Vec<Option<u32>> {
    let selected: Vec<&Cluster> = fleet.iter().collect();
    assign_waves(strategy, &selected, groups, &HashMap::new())
}

#[test]
fn a_cluster_is_in_the_first_wave_that_matches_it_and_is_not_full() {
    let fleet = [
        cluster(1, &[("ring", "canary")]),
        cluster(2, &[]),
        cluster(3, &[("ring", "canary")]),
        cluster(4, &[]),
        cluster(5, &[]),
    ];
    let groups = [ClusterGroup { name: "eu".into(), members: vec!["c-4".into()], ..ClusterGroup::default() }];
    let strategy = strategy(json!([
        { "name": "canary", "target": { "selector": "ring=canary" }, "maxClusters": 1 },
        { "name": "eu", "target": { "groups": ["eu"], "clusters": ["c-3"] } },
        { "name": "some", "maxClusters": "20%" },
        { "name": "rest" },
    ]));
    assert_eq!(assigned_waves(&strategy, &fleet, &groups), [Some(0), Some(2), Some(1), Some(1), Some(3)]);
}

#[test]
fn a_cluster_that_joins_moves_no_other_to_another_wave() {
    let fleet: Vec<Cluster> = (1..=4).map(|n| cluster(n, &[])).collect();
    let before = assigned_waves(&canary(), &fleet[1..], &[]);
    assert_eq!(before, [Some(0), Some(1), Some(1)]);
    let assigned: HashMap<_, _> =
        fleet[1..].iter().zip(&before).map(|(one, wave)| (one.id, wave.unwrap())).collect();
    // The new cluster is first in the decision, and would be the canary of a new rollout.
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    assert_eq!(assign_waves(&canary(), &chosen, &[], &assigned), [Some(1), Some(0), Some(1), Some(1)]);
}

fn finding_texts(findings: &[Finding]) -> Vec<(&str, &str, &str)> {
    findings.iter().map(|one| (one.code.as_str(), one.path.as_str(), one.message.as_str())).collect()
}

#[test]
fn g511_a_valid_rollout_and_an_empty_one_pass() {
    assert_eq!(check(&RolloutStrategy::default()), []);
    assert_eq!(check(&canary()), []);
    let fleet: Vec<Cluster> = (1..=9).map(|n| cluster(n, &[])).collect();
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    assert_eq!(check_fleet(&canary(), &chosen, &[]), []);
    assert_eq!(check_fleet(&RolloutStrategy::default(), &chosen[..5], &[]), []);
}

#[test]
fn g511_names_the_fields_of_a_wave_that_are_not_valid() {
    let bad = strategy(json!([
        { "name": "Canary!", "maxClusters": 0, "soak": "ten minutes" },
        { "name": "eu", "target": { "groups": ["eu"] }, "maxConcurrency": "150%", "maxFailures": "few", "maxDeferred": "101%" },
        { "name": "eu", "soak": "1m1h" },
    ]));
    let findings = check(&bad);
    assert!(findings.iter().all(|finding| finding.code == "G511" && finding.is_blocking()));
    let paths: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/rollout/waves/0/maxClusters",
            "/rollout/waves/0/soak",
            "/rollout/waves/0/name",
            "/rollout/waves/1/maxConcurrency",
            "/rollout/waves/1/maxFailures",
            "/rollout/waves/1/maxDeferred",
            "/rollout/waves/2/soak",
            "/rollout/waves/2/name",
        ]
    );
    assert_eq!(findings[1].message, "soak is \"ten minutes\", which is not a time span.");
    assert_eq!(findings[3].message, "maxConcurrency of the wave \"eu\": 150% is not between 1% and 100%.");
}

#[test]
fn g511_names_waves_without_clusters_and_clusters_without_a_wave() {
    let fleet = [cluster(1, &[("env", "prod")]), cluster(2, &[("env", "prod")]), cluster(3, &[])];
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    let prod = json!({ "name": "prod", "target": { "selector": "env=prod" } });
    let strategy = strategy(json!([
        { "name": "canary", "target": { "selector": "ring=canary" } },
        prod,
        { "name": "again", "target": { "clusters": ["c-1"] } },
    ]));
    let findings = check_fleet(&strategy, &chosen, &[]);
    assert_eq!(
        finding_texts(&findings),
        [
            (
                "G511",
                "/rollout/waves",
                "These clusters are in no wave, so they would never get this revision."
            ),
            (
                "G511",
                "/rollout/waves/0/target",
                "The wave \"canary\" contains none of the selected clusters."
            ),
            (
                "G511",
                "/rollout/waves/2/target",
                "The wave \"again\" contains none of the selected clusters: earlier waves contain all its clusters."
            ),
        ]
    );
    assert_eq!(findings[0].clusters, ["c-3"]);
}

#[test]
fn g511_a_wave_after_one_that_contains_every_remaining_cluster_is_reported_once() {
    let strategy = strategy(json!([{ "name": "rest" }, { "name": "eu", "target": { "groups": ["eu"] } }]));
    let findings = check(&strategy);
    assert_eq!(findings.len(), 1);
    assert!(findings[0].message.contains("none is left for \"eu\""), "{}", findings[0].message);
    let fleet = [cluster(1, &[])];
    assert_eq!(check_fleet(&strategy, &[&fleet[0]], &[]), []);
}

#[test]
fn g512_warns_when_all_clusters_are_updated_at_once() {
    let fleet: Vec<Cluster> = (1..=6).map(|n| cluster(n, &[])).collect();
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    for at_once in [RolloutStrategy::default(), strategy(json!([{ "name": "all" }]))] {
        let findings = check_fleet(&at_once, &chosen, &[]);
        assert_eq!(
            finding_texts(&findings),
            [("G512", "/rollout/waves", "All 6 clusters would be updated at once.")]
        );
        assert!(!findings[0].is_blocking());
    }
    // A concurrency limit is enough.
    assert_eq!(check_fleet(&strategy(json!([{ "name": "all", "maxConcurrency": "10%" }])), &chosen, &[]), []);
}

#[test]
fn g512_warns_of_a_failure_limit_that_allows_every_cluster_to_fail() {
    let findings = check(&strategy(json!([{ "name": "all", "maxFailures": "100%" }])));
    assert_eq!((findings[0].code.as_str(), findings[0].is_blocking()), ("G512", false));
    assert_eq!(findings[0].path, "/rollout/waves/0/maxFailures");
}

#[test]
fn amounts_and_spans_are_parsed_and_invalid_ones_are_stored_as_written() {
    let wave: Wave =
        serde_json::from_value(json!({ "name": "w", "maxClusters": "25 %", "soak": "soon" })).unwrap();
    assert_eq!(wave.max_clusters, Some(CountOrPercent::Percent(25)));
    assert_eq!(
        serde_json::to_value(&wave).unwrap(),
        json!({ "name": "w", "maxClusters": "25%", "soak": "soon" })
    );
    let millis = |text: &str| text.parse::<TimeSpan>().unwrap().millis();
    assert_eq!(millis("1h30m"), Some(5_400_000));
    assert_eq!((millis("0"), millis("90s"), millis("2d")), (Some(0), Some(90_000), Some(172_800_000)));
    for bad in ["", "10", "m", "10 m", "1m1m", "-5m", "1.5h", "400d", "99999999999999999999s"] {
        assert_eq!(millis(bad), None, "{bad}");
    }
    let up = |text: &str, all| text.parse::<CountOrPercent>().unwrap().round_up(all);
    assert_eq!((up("10%", 5), up("10%", 20), up("3", 2)), (Some(1), Some(2), Some(3)));
    assert_eq!("10%".parse::<CountOrPercent>().unwrap().round_down(5), Some(0));
    assert_eq!("-1".parse::<CountOrPercent>().unwrap(), CountOrPercent::Invalid("-1".into()));
}

#[test]
fn a_wave_starts_when_the_previous_one_was_operational_for_its_soak_time() {
    let mut rollout = rollout(canary());
    let step = rollout.reconcile(&[wave_counts(1, 0, 0), wave_counts(4, 0, 0)], NOW, &Pauses::default());
    assert_eq!(step.admission, Some(Admission { wave: 0, limit: 1 }));

    let step =
        rollout.reconcile(&[wave_counts(0, 1, 0), wave_counts(4, 0, 0)], minutes(1), &Pauses::default());
    assert_eq!((step.admission, &rollout.state), (None, &RolloutState::Running));

    let step =
        rollout.reconcile(&[wave_counts(0, 0, 1), wave_counts(4, 0, 0)], minutes(2), &Pauses::default());
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(12) });
    assert_eq!((step.admission, step.next_step_at), (None, Some(minutes(12))));
    assert_eq!(
        event_messages(&step, minutes(2)),
        ["web revision 4: Wave 1 of 2 (canary) is operational and soaks for 10 min."]
    );

    // The cluster restarts during the soak time: the soak time starts again.
    rollout.reconcile(&[wave_counts(0, 1, 0), wave_counts(4, 0, 0)], minutes(5), &Pauses::default());
    assert_eq!(rollout.state, RolloutState::Running);
    rollout.reconcile(&[wave_counts(0, 0, 1), wave_counts(4, 0, 0)], minutes(6), &Pauses::default());
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(16) });

    let step =
        rollout.reconcile(&[wave_counts(0, 0, 1), wave_counts(4, 0, 0)], minutes(16), &Pauses::default());
    assert_eq!(step.admission, Some(Admission { wave: 1, limit: 2 }), "two at a time");
    assert_eq!(rollout.message(minutes(16)), "Wave 2 of 2 (rest) is in progress.");
}

#[test]
fn no_more_clusters_are_updated_at_a_time_than_the_wave_allows() {
    let mut rollout = rollout(strategy(json!([{ "name": "all", "maxConcurrency": "50%" }])));
    assert_eq!(
        rollout.reconcile(&[wave_counts(5, 0, 0)], NOW, &Pauses::default()).admission,
        Some(Admission { wave: 0, limit: 3 })
    );
    assert_eq!(rollout.reconcile(&[wave_counts(2, 3, 0)], NOW, &Pauses::default()).admission, None);
    assert_eq!(
        rollout.reconcile(&[wave_counts(2, 2, 1)], NOW, &Pauses::default()).admission,
        Some(Admission { wave: 0, limit: 1 })
    );
    let step = rollout.reconcile(&[wave_counts(0, 0, 5)], NOW, &Pauses::default());
    assert_eq!((step.admission, &rollout.state), (None, &RolloutState::Completed));
    assert_eq!(event_messages(&step, NOW), ["web revision 4: the rollout is completed."]);
}

#[test]
fn e5_deferred_clusters_within_the_limit_do_not_block_a_wave() {
    let mut strategy = canary();
    strategy.waves[0].max_deferred = Some(CountOrPercent::Count(1));
    let mut rollout = rollout(strategy);
    let deferred = WaveCounts { deferred: 1, ..WaveCounts::default() };
    rollout.reconcile(&[deferred.clone(), wave_counts(4, 0, 0)], NOW, &Pauses::default());
    rollout.reconcile(&[deferred, wave_counts(4, 0, 0)], minutes(10), &Pauses::default());
    assert_eq!((rollout.wave, &rollout.state), (1, &RolloutState::Running));
}

#[test]
fn p29_too_many_failures_pause_a_rollout_before_the_next_wave_but_only_after_fail_after() {
    let mut rollout = rollout(canary());
    let wavering =
        WaveCounts { recently_failing: 1, recently_failing_since: Some(minutes(1)), ..WaveCounts::default() };
    let step = rollout.reconcile(&[wavering, wave_counts(4, 0, 0)], minutes(1), &Pauses::default());
    assert_eq!((&rollout.state, step.next_step_at), (&RolloutState::Running, Some(minutes(2))));

    let failing = WaveCounts { failing: 1, ..WaveCounts::default() };
    let step = rollout.reconcile(&[failing.clone(), wave_counts(4, 0, 0)], minutes(2), &Pauses::default());
    assert_eq!(
        rollout.state,
        RolloutState::AutoPaused { message: "1 of 1 cluster fails in wave canary; the limit is 0.".into() }
    );
    assert_eq!((step.admission, step.events[0].severity()), (None, crate::text::finding::Severity::Error));
    // It does not continue without an action, even if the cluster recovers.
    assert_eq!(
        rollout
            .reconcile(&[wave_counts(0, 0, 1), wave_counts(4, 0, 0)], minutes(3), &Pauses::default())
            .admission,
        None
    );

    rollout.reconcile(&[failing.clone(), wave_counts(4, 0, 0)], minutes(4), &Pauses::default());
    rollout.apply_action(RolloutAction::Resume, "ann", minutes(5)).unwrap();
    rollout.reconcile(&[failing.clone(), wave_counts(4, 0, 0)], minutes(5), &Pauses::default());
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(15) }, "ann accepted this failure");
    let step = rollout.reconcile(&[failing, wave_counts(4, 0, 0)], minutes(15), &Pauses::default());
    assert_eq!(step.admission, Some(Admission { wave: 1, limit: 2 }));
}

#[test]
fn p29_a_failure_in_an_earlier_wave_pauses_a_later_one() {
    let mut rollout = rollout(canary());
    rollout.reconcile(&[wave_counts(0, 0, 1), wave_counts(4, 0, 0)], NOW, &Pauses::default());
    rollout.reconcile(&[wave_counts(0, 0, 1), wave_counts(4, 0, 0)], minutes(10), &Pauses::default());
    assert_eq!(rollout.wave, 1);
    let failing = WaveCounts { failing: 1, ..WaveCounts::default() };
    let step = rollout.reconcile(&[failing, wave_counts(2, 2, 0)], minutes(11), &Pauses::default());
    assert!(matches!(rollout.state, RolloutState::AutoPaused { .. }) && step.admission.is_none());
}

#[test]
fn failures_within_the_limit_do_not_block_the_wave() {
    let mut rollout = rollout(strategy(json!([{ "name": "all", "maxFailures": 1 }])));
    let one = WaveCounts { failing: 1, operational: 3, ..WaveCounts::default() };
    rollout.reconcile(&[one], NOW, &Pauses::default());
    assert_eq!(rollout.state, RolloutState::Completed);
}

#[test]
fn s2_5_a_wave_with_approval_waits_for_it_and_no_other_action_starts_it() {
    let mut rollout = rollout(strategy(json!([{ "name": "dev" }, { "name": "prod", "approval": true }])));
    let done = [wave_counts(0, 0, 2), wave_counts(3, 0, 0)];
    let step = rollout.reconcile(&done, NOW, &Pauses::default());
    assert_eq!((&rollout.state, step.admission), (&RolloutState::AwaitingApproval, None));
    assert_eq!(event_messages(&step, NOW)[1], "web revision 4: Wave 2 of 2 (prod) waits for approval.");
    rollout.apply_action(RolloutAction::Pause, "ann", NOW).unwrap();
    rollout.apply_action(RolloutAction::Resume, "ann", NOW).unwrap();
    assert_eq!(rollout.state, RolloutState::AwaitingApproval, "resuming is no approval");
    rollout.apply_action(RolloutAction::Approve, "ben", NOW).unwrap();
    assert_eq!(rollout.waves[1].approved_by.as_deref(), Some("ben"));
    assert_eq!(
        rollout.reconcile(&done, NOW, &Pauses::default()).admission,
        Some(Admission { wave: 1, limit: 3 })
    );
}

#[test]
fn s2_5_with_approver_another_user_the_publisher_can_not_approve() {
    let mut strategy = strategy(json!([{ "name": "prod", "approval": true }]));
    strategy.approver = Approver::AnotherUser;
    let mut rollout = Rollout { published_by: "ann".into(), ..rollout(strategy) };
    assert_eq!(rollout.message(NOW), "Wave 1 of 1 (prod) waits for the approval of a user other than ann.");
    let why = rollout.apply_action(RolloutAction::Approve, "ann", NOW).unwrap_err();
    assert!(why.0.contains("requires the approval of another user"), "{why:?}");
    assert_eq!(rollout.state, RolloutState::AwaitingApproval);
    rollout.apply_action(RolloutAction::Approve, "ben", NOW).unwrap();
    assert_eq!(rollout.waves[0].approved_by.as_deref(), Some("ben"));
    let mut unknown =
        Rollout { published_by: String::new(), state: RolloutState::AwaitingApproval, ..rollout };
    assert!(unknown.apply_action(RolloutAction::Approve, "ben", NOW).is_err(), "unknown is not another user");
}

#[test]
fn g511_an_approver_without_a_wave_that_requires_approval_is_rejected() {
    let mut strategy = canary();
    strategy.approver = Approver::AnotherUser;
    let findings = check(&strategy);
    assert_eq!(findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["G511"]);
}

#[test]
fn promote_skips_the_rest_of_the_soak_time() {
    let mut rollout = rollout(canary());
    let done = [wave_counts(0, 0, 1), wave_counts(4, 0, 0)];
    rollout.reconcile(&done, NOW, &Pauses::default());
    rollout.apply_action(RolloutAction::Promote, "ann", minutes(1)).unwrap();
    assert_eq!(
        rollout.reconcile(&done, minutes(1), &Pauses::default()).admission,
        Some(Admission { wave: 1, limit: 2 })
    );
}

#[test]
fn an_aborted_rollout_ends_its_gates_and_rejects_further_actions() {
    let mut rollout = rollout(canary());
    rollout.apply_action(RolloutAction::Abort, "ann", NOW).unwrap();
    assert!(
        rollout.reconcile(&[wave_counts(1, 0, 0), wave_counts(4, 0, 0)], NOW, &Pauses::default()).end_gates
    );
    let why = rollout.apply_action(RolloutAction::Resume, "ann", NOW).unwrap_err();
    assert_eq!(why.0, "This rollout can't be resumed: the rollout of revision 4 is aborted.");
    rollout.supersede(NOW);
    assert!(matches!(rollout.state, RolloutState::Aborted { .. }), "a final state does not change");
}

#[test]
fn outside_its_window_no_cluster_is_admitted() {
    let mut strategy = canary();
    strategy.window =
        Some(RolloutWindow { from: "22:00".into(), to: "23:00".into(), ..RolloutWindow::default() });
    let mut rollout = rollout(strategy);
    let noon: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    let night = "2026-11-22T22:00:00Z".parse().unwrap();
    let gated = [wave_counts(1, 0, 0), wave_counts(4, 0, 0)];
    let step = rollout.reconcile(&gated, noon, &Pauses::default());
    assert_eq!((step.admission, step.next_step_at), (None, Some(night)));
    assert_eq!(
        rollout.message(noon),
        "Wave 1 of 2 (canary) waits for the rollout window, which opens in 10 h."
    );
    assert_eq!(
        rollout.reconcile(&gated, night, &Pauses::default()).admission,
        Some(Admission { wave: 0, limit: 1 })
    );
}

#[test]
fn clusters_are_counted_by_gate_and_state() {
    let mut tally = WaveCounts::default();
    let one = StateCount { count: 1, ..StateCount::default() };
    tally.add(true, ReleaseState::Healthy, &one);
    tally.add(true, ReleaseState::Unknown, &one);
    tally.add(false, ReleaseState::Unknown, &StateCount { is_admitted_offline: true, ..one });
    tally.add(false, ReleaseState::Unknown, &StateCount { past_fail_after: 1, ..one });
    tally.add(false, ReleaseState::Healthy, &StateCount { is_late: true, ..one });
    tally.add(false, ReleaseState::Pending, &one);
    tally.add(false, ReleaseState::Suspended, &one);
    tally.add(false, ReleaseState::Drifted, &one);
    tally.add(false, ReleaseState::Progressing, &one);
    tally.add(
        false,
        ReleaseState::Failed,
        &StateCount { count: 3, past_fail_after: 1, since: Some(minutes(2)), ..StateCount::default() },
    );
    tally.add(false, ReleaseState::Degraded, &StateCount { since: Some(minutes(1)), ..one });
    let all = WaveCounts {
        gated: 2,
        in_transition: 2,
        drifted: 1,
        operational: 2,
        late: 1,
        deferred: 2,
        failing: 2,
        recently_failing: 3,
        silent: 1,
        rolled_back: 0,
        recently_failing_since: Some(minutes(1)),
    };
    assert_eq!(tally, all);
}

#[test]
fn a_wave_with_a_drifted_cluster_does_not_let_the_next_one_start() {
    let mut rollout = new_rollout(canary());
    let one = StateCount { count: 1, ..StateCount::default() };
    rollout.reconcile(&[wave_counts(1, 0, 0), wave_counts(4, 0, 0)], NOW, &Pauses::default());
    let mut drifted = WaveCounts::default();
    drifted.add(false, ReleaseState::Drifted, &one);
    let step = rollout.reconcile(&[drifted, wave_counts(4, 0, 0)], minutes(30), &Pauses::default());
    assert_eq!((step.admission, rollout.wave, &rollout.state), (None, 0, &RolloutState::Running));
    let message = rollout.message(minutes(30));
    assert!(message.contains("waits for 1 cluster with drifted objects. Sync it"), "{message}");
}

#[test]
fn failures_before_the_first_step_do_not_count() {
    let mut rollout = new_rollout(canary());
    let broken = WaveCounts { failing: 1, gated: 1, ..WaveCounts::default() };
    let step = rollout.reconcile(&[broken, wave_counts(4, 0, 0)], NOW, &Pauses::default());
    assert_eq!(step.admission, Some(Admission { wave: 0, limit: 1 }));
    let both = WaveCounts { failing: 2, ..WaveCounts::default() };
    rollout.reconcile(&[both, wave_counts(4, 0, 0)], minutes(2), &Pauses::default());
    assert!(matches!(rollout.state, RolloutState::AutoPaused { .. }), "a new failure counts");
}

#[test]
fn a_first_wave_that_waits_for_approval_is_reported_once() {
    let mut rollout = new_rollout(strategy(json!([{ "name": "prod", "approval": true }])));
    let step = rollout.reconcile(&[wave_counts(2, 0, 0)], NOW, &Pauses::default());
    assert_eq!(event_messages(&step, NOW), ["web revision 4: Wave 1 of 1 (prod) waits for approval."]);
    assert_eq!(rollout.reconcile(&[wave_counts(2, 0, 0)], NOW, &Pauses::default()).events, []);
}
