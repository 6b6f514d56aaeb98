//! Rollouts by example: waves, budgets, soak times, and what a person may say.

use std::collections::HashMap;

use serde_json::json;

use super::*;
use crate::cluster::{Cluster, ClusterKind};
use crate::finding::Finding;
use crate::placement::ClusterGroup;
use crate::release::State;

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000_000);

pub(super) fn cluster(n: u32, labels: &[(&str, &str)]) -> Cluster {
    let id = crate::id::ClusterId::from_parts(1, u128::from(n));
    let mut cluster = Cluster::new(id, format!("c-{n}"), ClusterKind::Agent, NOW);
    cluster.labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    cluster
}

fn strategy(waves: serde_json::Value) -> RolloutStrategy {
    serde_json::from_value(json!({ "waves": waves })).unwrap()
}

/// Canary on one cluster with a soak of ten minutes, then the rest, two at a time.
fn canary() -> RolloutStrategy {
    strategy(json!([
        { "name": "canary", "take": 1, "soak": "10m" },
        { "name": "rest", "maxConcurrency": 2, "maxFailures": 1 },
    ]))
}

fn rollout(strategy: RolloutStrategy) -> Rollout {
    Rollout { begun: true, ..fresh(strategy) }
}

/// One that no step was taken of.
fn fresh(strategy: RolloutStrategy) -> Rollout {
    Rollout::new(WorkloadId::from_parts(1, 1), (Some(3), 4), strategy, NOW)
}

fn tally(held: u32, moving: u32, operational: u32) -> WaveTally {
    WaveTally { held, moving, operational, ..WaveTally::default() }
}

fn minutes(n: i64) -> Timestamp {
    NOW.plus_millis(n * 60_000)
}

fn words(step: &Step) -> Vec<&str> {
    step.news.iter().map(|news| news.message.as_str()).collect()
}

fn waves_of(strategy: &RolloutStrategy, fleet: &[Cluster], groups: &[ClusterGroup]) -> Vec<Option<u32>> {
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    assign(strategy, &chosen, groups, &HashMap::new())
}

#[test]
fn a_cluster_is_in_the_first_wave_that_is_for_it_and_has_room() {
    let fleet = [
        cluster(1, &[("ring", "canary")]),
        cluster(2, &[]),
        cluster(3, &[("ring", "canary")]),
        cluster(4, &[]),
        cluster(5, &[]),
    ];
    let groups = [ClusterGroup { name: "eu".into(), members: vec!["c-4".into()], ..ClusterGroup::default() }];
    let strategy = strategy(json!([
        { "name": "canary", "target": { "selector": "ring=canary" }, "take": 1 },
        { "name": "eu", "target": { "groups": ["eu"], "clusters": ["c-3"] } },
        { "name": "some", "take": "20%" },
        { "name": "rest" },
    ]));
    assert_eq!(waves_of(&strategy, &fleet, &groups), [Some(0), Some(2), Some(1), Some(1), Some(3)]);
}

#[test]
fn a_cluster_that_joins_moves_no_other_to_another_wave() {
    let fleet: Vec<Cluster> = (1..=4).map(|n| cluster(n, &[])).collect();
    let before = waves_of(&canary(), &fleet[1..], &[]);
    assert_eq!(before, [Some(0), Some(1), Some(1)]);
    let kept: HashMap<_, _> =
        fleet[1..].iter().zip(&before).map(|(one, wave)| (one.id, wave.unwrap())).collect();
    // The new one comes first in the decision, and would be the canary of a rollout that begins now.
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    assert_eq!(assign(&canary(), &chosen, &[], &kept), [Some(1), Some(0), Some(1), Some(1)]);
}

fn messages(findings: &[Finding]) -> Vec<(&str, &str, &str)> {
    findings.iter().map(|one| (one.code.as_str(), one.path.as_str(), one.message.as_str())).collect()
}

#[test]
fn g511_a_sound_rollout_and_none_at_all_pass() {
    assert_eq!(check(&RolloutStrategy::default()), []);
    assert_eq!(check(&canary()), []);
    let fleet: Vec<Cluster> = (1..=9).map(|n| cluster(n, &[])).collect();
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    assert_eq!(check_fleet(&canary(), &chosen, &[]), []);
    assert_eq!(check_fleet(&RolloutStrategy::default(), &chosen[..5], &[]), []);
}

#[test]
fn g511_names_what_cant_be_read_of_a_wave() {
    let bad = strategy(json!([
        { "name": "Canary!", "take": 0, "soak": "ten minutes" },
        { "name": "eu", "target": { "groups": ["eu"] }, "maxConcurrency": "150%", "maxFailures": "few" },
        { "name": "eu", "soak": "1m1h" },
    ]));
    let findings = check(&bad);
    assert!(findings.iter().all(|finding| finding.code == "G511" && finding.blocks()));
    let places: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(
        places,
        [
            "/rollout/waves/0/take",
            "/rollout/waves/0/soak",
            "/rollout/waves/0/name",
            "/rollout/waves/1/maxConcurrency",
            "/rollout/waves/1/maxFailures",
            "/rollout/waves/2/soak",
            "/rollout/waves/2/name",
        ]
    );
    assert_eq!(findings[1].message, "soak is \"ten minutes\", which is no time span.");
    assert_eq!(findings[3].message, "maxConcurrency of the wave \"eu\": 150% is not between 1% and 100%.");
}

#[test]
fn g511_names_the_wave_without_clusters_and_the_clusters_without_a_wave() {
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
        messages(&findings),
        [
            (
                "G511",
                "/rollout/waves",
                "These clusters are in no wave, so they would never get this revision."
            ),
            ("G511", "/rollout/waves/0/target", "The wave \"canary\" has none of the chosen clusters."),
            (
                "G511",
                "/rollout/waves/2/target",
                "The wave \"again\" has none of the chosen clusters: earlier waves have all its clusters."
            ),
        ]
    );
    assert_eq!(findings[0].clusters, ["c-3"]);
}

#[test]
fn g511_a_wave_after_the_one_that_takes_all_the_rest_is_said_once() {
    let strategy = strategy(json!([{ "name": "rest" }, { "name": "eu", "target": { "groups": ["eu"] } }]));
    let told = check(&strategy);
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("none is left for \"eu\""), "{}", told[0].message);
    let fleet = [cluster(1, &[])];
    assert_eq!(check_fleet(&strategy, &[&fleet[0]], &[]), []);
}

#[test]
fn g512_warns_when_nothing_is_tried_before_it_goes_everywhere() {
    let fleet: Vec<Cluster> = (1..=6).map(|n| cluster(n, &[])).collect();
    let chosen: Vec<&Cluster> = fleet.iter().collect();
    for at_once in [RolloutStrategy::default(), strategy(json!([{ "name": "all" }]))] {
        let told = check_fleet(&at_once, &chosen, &[]);
        assert_eq!(messages(&told), [("G512", "/rollout/waves", "All 6 clusters would be updated at once.")]);
        assert!(!told[0].blocks());
    }
    // A few at a time is trying it too.
    assert_eq!(check_fleet(&strategy(json!([{ "name": "all", "maxConcurrency": "10%" }])), &chosen, &[]), []);
}

#[test]
fn g512_warns_of_a_budget_that_lets_every_cluster_fail() {
    let told = check(&strategy(json!([{ "name": "all", "maxFailures": "100%" }])));
    assert_eq!((told[0].code.as_str(), told[0].blocks()), ("G512", false));
    assert_eq!(told[0].path, "/rollout/waves/0/maxFailures");
}

#[test]
fn amounts_and_spans_are_read_as_people_write_them_and_kept_if_they_cant_be() {
    let wave: Wave = serde_json::from_value(json!({ "name": "w", "take": "25 %", "soak": "soon" })).unwrap();
    assert_eq!(wave.take, Some(Amount::Percent(25)));
    assert_eq!(serde_json::to_value(&wave).unwrap(), json!({ "name": "w", "take": "25%", "soak": "soon" }));
    let millis = |text: &str| text.parse::<Span>().unwrap().millis();
    assert_eq!(millis("1h30m"), Some(5_400_000));
    assert_eq!((millis("0"), millis("90s"), millis("2d")), (Some(0), Some(90_000), Some(172_800_000)));
    for bad in ["", "10", "m", "10 m", "1m1m", "-5m", "1.5h", "400d", "99999999999999999999s"] {
        assert_eq!(millis(bad), None, "{bad}");
    }
    let up = |text: &str, all| text.parse::<Amount>().unwrap().up(all);
    assert_eq!((up("10%", 5), up("10%", 20), up("3", 2)), (Some(1), Some(2), Some(3)));
    assert_eq!("10%".parse::<Amount>().unwrap().down(5), Some(0));
    assert_eq!("-1".parse::<Amount>().unwrap(), Amount::Unclear("-1".into()));
}

#[test]
fn a_wave_begins_when_the_one_before_was_operational_for_its_soak_time() {
    let mut rollout = rollout(canary());
    let step = rollout.step("web", &[tally(1, 0, 0), tally(4, 0, 0)], NOW);
    assert_eq!(step.let_go, Some(LetGo { wave: 0, most: 1 }));

    let step = rollout.step("web", &[tally(0, 1, 0), tally(4, 0, 0)], minutes(1));
    assert_eq!((step.let_go, &rollout.state), (None, &RolloutState::Running));

    let step = rollout.step("web", &[tally(0, 0, 1), tally(4, 0, 0)], minutes(2));
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(12) });
    assert_eq!((step.let_go, step.again_at), (None, Some(minutes(12))));
    assert_eq!(
        words(&step),
        ["web revision 4: Wave 1 of 2 (canary) is operational and is watched for 10 min."]
    );

    // It restarts while it is watched: its time begins anew.
    rollout.step("web", &[tally(0, 1, 0), tally(4, 0, 0)], minutes(5));
    assert_eq!(rollout.state, RolloutState::Running);
    rollout.step("web", &[tally(0, 0, 1), tally(4, 0, 0)], minutes(6));
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(16) });

    let step = rollout.step("web", &[tally(0, 0, 1), tally(4, 0, 0)], minutes(16));
    assert_eq!(step.let_go, Some(LetGo { wave: 1, most: 2 }), "two at a time");
    assert_eq!(rollout.sentence(minutes(16)), "Wave 2 of 2 (rest) is on its way.");
}

#[test]
fn no_more_clusters_are_on_their_way_than_the_wave_allows() {
    let mut rollout = rollout(strategy(json!([{ "name": "all", "maxConcurrency": "50%" }])));
    assert_eq!(rollout.step("web", &[tally(5, 0, 0)], NOW).let_go, Some(LetGo { wave: 0, most: 3 }));
    assert_eq!(rollout.step("web", &[tally(2, 3, 0)], NOW).let_go, None);
    assert_eq!(rollout.step("web", &[tally(2, 2, 1)], NOW).let_go, Some(LetGo { wave: 0, most: 1 }));
    let step = rollout.step("web", &[tally(0, 0, 5)], NOW);
    assert_eq!((step.let_go, &rollout.state), (None, &RolloutState::Completed));
    assert_eq!(words(&step), ["web revision 4: the rollout is completed."]);
}

#[test]
fn e5_clusters_that_cant_be_asked_hold_nobody_up() {
    let mut rollout = rollout(canary());
    let away = WaveTally { deferred: 1, ..WaveTally::default() };
    rollout.step("web", &[away.clone(), tally(4, 0, 0)], NOW);
    rollout.step("web", &[away, tally(4, 0, 0)], minutes(10));
    assert_eq!((rollout.wave, &rollout.state), (1, &RolloutState::Running));
}

#[test]
fn p29_too_many_failures_pause_it_before_the_next_wave_and_only_after_their_time() {
    let mut rollout = rollout(canary());
    let wavering = WaveTally { wavering: 1, wavering_since: Some(minutes(1)), ..WaveTally::default() };
    let step = rollout.step("web", &[wavering, tally(4, 0, 0)], minutes(1));
    assert_eq!((&rollout.state, step.again_at), (&RolloutState::Running, Some(minutes(2))));

    let failing = WaveTally { failing: 1, ..WaveTally::default() };
    let step = rollout.step("web", &[failing.clone(), tally(4, 0, 0)], minutes(2));
    assert_eq!(
        rollout.state,
        RolloutState::AutoPaused { why: "1 of 1 cluster fails in canary, 0 may.".into() }
    );
    assert_eq!((step.let_go, step.news[0].severity), (None, Severity::Error));
    // Nothing goes on by itself, also if it heals.
    assert_eq!(rollout.step("web", &[tally(0, 0, 1), tally(4, 0, 0)], minutes(3)).let_go, None);

    rollout.step("web", &[failing.clone(), tally(4, 0, 0)], minutes(4));
    rollout.steer(RolloutVerb::Resume, "ann", minutes(5)).unwrap();
    rollout.step("web", &[failing.clone(), tally(4, 0, 0)], minutes(5));
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(15) }, "ann let this failure pass");
    let step = rollout.step("web", &[failing, tally(4, 0, 0)], minutes(15));
    assert_eq!(step.let_go, Some(LetGo { wave: 1, most: 2 }));
}

#[test]
fn p29_what_breaks_in_an_earlier_wave_stops_a_later_one() {
    let mut rollout = rollout(canary());
    rollout.step("web", &[tally(0, 0, 1), tally(4, 0, 0)], NOW);
    rollout.step("web", &[tally(0, 0, 1), tally(4, 0, 0)], minutes(10));
    assert_eq!(rollout.wave, 1);
    let failing = WaveTally { failing: 1, ..WaveTally::default() };
    let step = rollout.step("web", &[failing, tally(2, 2, 0)], minutes(11));
    assert!(matches!(rollout.state, RolloutState::AutoPaused { .. }) && step.let_go.is_none());
}

#[test]
fn failures_within_the_budget_do_not_hold_the_wave() {
    let mut rollout = rollout(strategy(json!([{ "name": "all", "maxFailures": 1 }])));
    let one = WaveTally { failing: 1, operational: 3, ..WaveTally::default() };
    rollout.step("web", &[one], NOW);
    assert_eq!(rollout.state, RolloutState::Completed);
}

#[test]
fn a_wave_that_asks_for_a_yes_waits_for_it_and_nothing_else_opens_it() {
    let mut rollout = rollout(strategy(json!([{ "name": "dev" }, { "name": "prod", "approval": true }])));
    let done = [tally(0, 0, 2), tally(3, 0, 0)];
    let step = rollout.step("web", &done, NOW);
    assert_eq!((&rollout.state, step.let_go), (&RolloutState::AwaitingApproval, None));
    assert_eq!(step.news[1].message, "web revision 4: Wave 2 of 2 (prod) waits for somebody to approve it.");
    rollout.steer(RolloutVerb::Pause, "ann", NOW).unwrap();
    rollout.steer(RolloutVerb::Resume, "ann", NOW).unwrap();
    assert_eq!(rollout.state, RolloutState::AwaitingApproval, "resuming is no approval");
    rollout.steer(RolloutVerb::Approve, "ben", NOW).unwrap();
    assert_eq!(rollout.waves[1].approved_by.as_deref(), Some("ben"));
    assert_eq!(rollout.step("web", &done, NOW).let_go, Some(LetGo { wave: 1, most: 3 }));
}

#[test]
fn a_promoted_wave_is_not_watched_to_its_end() {
    let mut rollout = rollout(canary());
    let done = [tally(0, 0, 1), tally(4, 0, 0)];
    rollout.step("web", &done, NOW);
    rollout.steer(RolloutVerb::Promote, "ann", minutes(1)).unwrap();
    assert_eq!(rollout.step("web", &done, minutes(1)).let_go, Some(LetGo { wave: 1, most: 2 }));
}

#[test]
fn an_ended_rollout_tells_those_that_wait_and_takes_no_more_words() {
    let mut rollout = rollout(canary());
    rollout.steer(RolloutVerb::Abort, "ann", NOW).unwrap();
    assert!(rollout.step("web", &[tally(1, 0, 0), tally(4, 0, 0)], NOW).end_held);
    let why = rollout.steer(RolloutVerb::Resume, "ann", NOW).unwrap_err();
    assert_eq!(why.0, "This rollout can't be resumed: the rollout of revision 4 is aborted.");
    rollout.supersede(NOW);
    assert!(matches!(rollout.state, RolloutState::Aborted { .. }), "what is over stays what it was");
}

#[test]
fn outside_its_window_nothing_is_let_through() {
    let mut strategy = canary();
    strategy.window = Some(Window { from: "22:00".into(), to: "23:00".into(), ..Window::default() });
    let mut rollout = rollout(strategy);
    let noon: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
    let night = "2026-11-22T22:00:00Z".parse().unwrap();
    let held = [tally(1, 0, 0), tally(4, 0, 0)];
    let step = rollout.step("web", &held, noon);
    assert_eq!((step.let_go, step.again_at), (None, Some(night)));
    assert_eq!(
        rollout.sentence(noon),
        "Wave 1 of 2 (canary) waits: outside the window, which opens in 10 h."
    );
    assert_eq!(rollout.step("web", &held, night).let_go, Some(LetGo { wave: 0, most: 1 }));
}

#[test]
fn clusters_are_counted_by_what_became_of_them() {
    let mut tally = WaveTally::default();
    let one = Alike { n: 1, ..Alike::default() };
    tally.add(true, State::Healthy, &one);
    tally.add(true, State::Unknown, &one);
    tally.add(false, State::Unknown, &one);
    tally.add(false, State::Pending, &one);
    tally.add(false, State::Drifted, &one);
    tally.add(false, State::Progressing, &one);
    tally.add(false, State::Failed, &Alike { n: 3, settled: 1, since: Some(minutes(2)) });
    tally.add(false, State::Degraded, &Alike { n: 1, settled: 0, since: Some(minutes(1)) });
    let all = WaveTally {
        held: 2,
        moving: 1,
        operational: 1,
        deferred: 2,
        failing: 1,
        wavering: 3,
        wavering_since: Some(minutes(1)),
    };
    assert_eq!(tally, all);
}

#[test]
fn what_was_broken_before_is_not_the_revisions_doing() {
    let mut rollout = fresh(canary());
    let broken = WaveTally { failing: 1, held: 1, ..WaveTally::default() };
    let step = rollout.step("web", &[broken, tally(4, 0, 0)], NOW);
    assert_eq!(step.let_go, Some(LetGo { wave: 0, most: 1 }));
    let both = WaveTally { failing: 2, ..WaveTally::default() };
    rollout.step("web", &[both, tally(4, 0, 0)], minutes(2));
    assert!(matches!(rollout.state, RolloutState::AutoPaused { .. }), "one more is");
}

#[test]
fn a_first_wave_that_waits_for_a_yes_says_so_once() {
    let mut rollout = fresh(strategy(json!([{ "name": "prod", "approval": true }])));
    let step = rollout.step("web", &[tally(2, 0, 0)], NOW);
    assert_eq!(words(&step), ["web revision 4: Wave 1 of 1 (prod) waits for somebody to approve it."]);
    assert_eq!(words(&rollout.step("web", &[tally(2, 0, 0)], NOW)).len(), 0);
}
