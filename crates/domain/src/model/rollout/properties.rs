//! Properties of rollouts, on fleets with random states.

use proptest::prelude::*;

use super::tests::cluster;
use super::*;
use crate::kubernetes::time::Pauses;
use crate::model::cluster::Cluster;
use crate::model::release::ReleaseState;

/// One cluster of the simulated fleet.
#[derive(Debug, Clone)]
struct SimulatedCluster {
    wave: usize,
    gated: bool,
    state: ReleaseState,
    since: Timestamp,
    is_admitted_offline: bool,
}

/// Clusters, concurrency, failures and deferred clusters, soak time, approval.
type WaveParameters = (u32, Option<u32>, (u32, Option<u32>), i64, bool);

fn any_strategy() -> impl Strategy<Value = RolloutStrategy> {
    let wave = (
        0..3_u32,
        prop::option::of(1..4_u32),
        (0..2_u32, prop::option::of(0..3_u32)),
        0..3_i64,
        any::<bool>(),
    );
    prop::collection::vec(wave, 1..4).prop_map(|waves| {
        let last = waves.len() - 1;
        let wave = |(n, (limit, most, (failures, deferred), soak, approval)): (usize, WaveParameters)| Wave {
            name: format!("w-{n}"),
            max_clusters: (n < last).then_some(CountOrPercent::Count(limit + 1)),
            max_concurrency: most.map(CountOrPercent::Count),
            max_failures: Some(CountOrPercent::Count(failures)),
            max_deferred: deferred.map(CountOrPercent::Count),
            soak: format!("{soak}m").parse().ok(),
            approval,
            ..Wave::default()
        };
        RolloutStrategy {
            waves: waves.into_iter().enumerate().map(wave).collect(),
            ..RolloutStrategy::default()
        }
    })
}

fn count_waves(rollout: &Rollout, fleet: &[SimulatedCluster], now: Timestamp) -> Vec<WaveCounts> {
    let mut all = vec![WaveCounts::default(); rollout.waves.len()];
    let grace = rollout.strategy.fail_after_millis();
    for toy in fleet {
        let settled = now.millis_since(toy.since) >= grace;
        let since = (!settled).then_some(toy.since);
        all[toy.wave].add(
            toy.gated,
            toy.state,
            &StateCount {
                count: 1,
                past_fail_after: u32::from(settled),
                since,
                is_late: false,
                is_admitted_offline: toy.is_admitted_offline,
            },
        );
    }
    all
}

fn build_fleet(strategy: &RolloutStrategy, n: u32) -> Vec<SimulatedCluster> {
    let clusters: Vec<Cluster> = (0..n).map(|n| cluster(n, &[])).collect();
    let chosen: Vec<&Cluster> = clusters.iter().collect();
    let waves = assign_waves(strategy, &chosen, &[], &std::collections::HashMap::new());
    let toy = |wave: Option<u32>| SimulatedCluster {
        wave: wave.expect("the last wave contains the rest") as usize,
        gated: true,
        state: ReleaseState::Pending,
        since: Timestamp::default(),
        is_admitted_offline: false,
    };
    waves.into_iter().map(toy).collect()
}

/// Admits the clusters that the step allows, in order.
fn admit_clusters(step: &RolloutStep, fleet: &mut [SimulatedCluster], now: Timestamp) {
    let Some(Admission { wave, limit: most }) = step.admission else { return };
    let mut left = most;
    for toy in fleet.iter_mut().filter(|toy| toy.gated) {
        let earlier = (toy.wave as u32) < wave;
        if earlier || (toy.wave as u32 == wave && left > 0) {
            left -= u32::from(!earlier);
            toy.gated = false;
            toy.is_admitted_offline = toy.state == ReleaseState::Unknown;
            if !toy.is_admitted_offline {
                (toy.state, toy.since) = (ReleaseState::Queued, now);
            }
        }
    }
}

proptest! {
    #[test]
    fn p29_a_wave_never_starts_before_the_previous_one_is_complete(
        strategy in any_strategy(),
        n in 1..9_u32,
        moves in prop::collection::vec((0..9_usize, 0..5_usize, 1..90_i64), 0..60),
    ) {
        let mut fleet = build_fleet(&strategy, n);
        let mut rollout = Rollout::new(WorkloadId::from_parts(1, 1), (None, 1), strategy.clone(), Timestamp::default());
        let mut now = Timestamp::default();
        for (index, state, seconds) in moves {
            now = now.plus_millis(seconds * 1_000);
            let index = index % fleet.len();
            if fleet[index].gated {
                // It goes offline or returns before its admission.
                fleet[index].state = if state == 3 { ReleaseState::Unknown } else { ReleaseState::Pending };
            } else {
                let state = [ReleaseState::Progressing, ReleaseState::Healthy, ReleaseState::Degraded, ReleaseState::Unknown, ReleaseState::Failed][state];
                if fleet[index].state != state {
                    (fleet[index].state, fleet[index].since) = (state, now);
                    fleet[index].is_admitted_offline = false;
                }
            }
            let before = fleet.clone();
            let (was, state) = (rollout.wave, rollout.state.clone());
            let step = rollout.reconcile(&count_waves(&rollout, &fleet, now), now, &Pauses::default());
            admit_clusters(&step, &mut fleet, now);
            prop_assert!(rollout.wave >= was, "it never goes back");
            if state.is_awaiting_action() {
                prop_assert!(fleet.iter().zip(&before).all(|(now, then)| now.gated == then.gated || then.wave < was as usize));
            }
            for toy in fleet.iter().zip(&before).filter(|(now, then)| then.gated && !now.gated).map(|(now, _)| now) {
                prop_assert!(toy.wave <= rollout.wave as usize);
            }
            let left = |toy: &&SimulatedCluster| (was..rollout.wave).contains(&(toy.wave as u32));
            prop_assert!(before.iter().filter(left).all(|toy| !toy.gated && !toy.state.is_in_transition()));
            for at in was..rollout.wave {
                // Silence is no success: only limited numbers of clusters may be unheard of.
                let wave = &strategy.waves[at as usize];
                let of_wave = || before.iter().filter(|toy| toy.wave as u32 == at);
                let clusters = of_wave().count() as u32;
                let is_deferred = |toy: &&SimulatedCluster| toy.state == ReleaseState::Unknown && toy.is_admitted_offline;
                let deferred = of_wave().filter(is_deferred).count() as u32;
                prop_assert!(deferred <= wave.deferral_limit(clusters, at == 0));
                let is_bad = |toy: &&SimulatedCluster| toy.state != ReleaseState::Healthy && !is_deferred(toy);
                let bad = of_wave().filter(is_bad).count() as u32;
                prop_assert!(bad <= wave.failure_limit(clusters) + rollout.waves[at as usize].accepted_failures);
            }
            for (at, wave) in strategy.waves.iter().enumerate() {
                let most = wave.concurrency_limit(u32::MAX) as usize;
                let going = fleet.iter().filter(|toy| toy.wave == at && toy.state == ReleaseState::Queued && toy.since == now);
                prop_assert!(going.count() <= most);
            }
        }
    }

    #[test]
    fn with_healthy_clusters_and_every_approval_a_rollout_reaches_every_cluster(strategy in any_strategy(), n in 1..9_u32) {
        let mut fleet = build_fleet(&strategy, n);
        let mut rollout = Rollout::new(WorkloadId::from_parts(1, 1), (None, 1), strategy, Timestamp::default());
        let mut now = Timestamp::default();
        for _ in 0..100 {
            let step = rollout.reconcile(&count_waves(&rollout, &fleet, now), now, &Pauses::default());
            admit_clusters(&step, &mut fleet, now);
            for toy in fleet.iter_mut().filter(|toy| !toy.gated) {
                toy.state = ReleaseState::Healthy;
            }
            if rollout.check_action(RolloutAction::Approve).is_ok() {
                rollout.apply_action(RolloutAction::Approve, "ann", now).unwrap();
            }
            now = step.next_step_at.unwrap_or(now).max(now.plus_millis(1));
        }
        prop_assert_eq!(rollout.state, RolloutState::Completed);
        prop_assert!(fleet.iter().all(|toy| !toy.gated));
    }
}
