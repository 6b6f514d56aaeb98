//! Laws of rollouts, on fleets that behave at random.

use proptest::prelude::*;

use super::tests::cluster;
use super::*;
use crate::cluster::Cluster;
use crate::release::State;

/// One cluster of the toy fleet.
#[derive(Debug, Clone)]
struct Toy {
    wave: usize,
    held: bool,
    state: State,
    since: Timestamp,
}

fn any_strategy() -> impl Strategy<Value = RolloutStrategy> {
    let wave = (0..3_u32, prop::option::of(1..4_u32), 0..2_u32, 0..3_i64, any::<bool>());
    prop::collection::vec(wave, 1..4).prop_map(|waves| {
        let last = waves.len() - 1;
        let wave =
            |(n, (take, most, failures, soak, approval)): (usize, (u32, Option<u32>, u32, i64, bool))| Wave {
                name: format!("w-{n}"),
                take: (n < last).then_some(Amount::Count(take + 1)),
                max_concurrency: most.map(Amount::Count),
                max_failures: Some(Amount::Count(failures)),
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

fn tallies(rollout: &Rollout, fleet: &[Toy], now: Timestamp) -> Vec<WaveTally> {
    let mut all = vec![WaveTally::default(); rollout.waves.len()];
    let grace = rollout.strategy.fail_after_millis();
    for toy in fleet {
        let settled = now.since(toy.since) >= grace;
        let since = (!settled).then_some(toy.since);
        all[toy.wave].add(toy.held, toy.state, &Alike { n: 1, settled: u32::from(settled), since });
    }
    all
}

fn fleet_of(strategy: &RolloutStrategy, n: u32) -> Vec<Toy> {
    let clusters: Vec<Cluster> = (0..n).map(|n| cluster(n, &[])).collect();
    let chosen: Vec<&Cluster> = clusters.iter().collect();
    let waves = assign(strategy, &chosen, &[], &std::collections::HashMap::new());
    let toy = |wave: Option<u32>| Toy {
        wave: wave.expect("the last wave takes the rest") as usize,
        held: true,
        state: State::Pending,
        since: Timestamp::default(),
    };
    waves.into_iter().map(toy).collect()
}

/// Lets through what the step allows, in order.
fn let_go(step: &Step, fleet: &mut [Toy], now: Timestamp) {
    let Some(LetGo { wave, most }) = step.let_go else { return };
    let mut left = most;
    for toy in fleet.iter_mut().filter(|toy| toy.held) {
        let earlier = (toy.wave as u32) < wave;
        if earlier || (toy.wave as u32 == wave && left > 0) {
            left -= u32::from(!earlier);
            (toy.held, toy.state, toy.since) = (false, State::Queued, now);
        }
    }
}

proptest! {
    #[test]
    fn p29_a_wave_never_begins_before_the_one_before_it_is_over(
        strategy in any_strategy(),
        n in 1..9_u32,
        moves in prop::collection::vec((0..9_usize, 0..5_usize, 1..90_i64), 0..60),
    ) {
        let mut fleet = fleet_of(&strategy, n);
        let mut rollout = Rollout::new(WorkloadId::from_parts(1, 1), (None, 1), strategy.clone(), Timestamp::default());
        let mut now = Timestamp::default();
        for (who, what, seconds) in moves {
            now = now.plus_millis(seconds * 1_000);
            let who = who % fleet.len();
            if !fleet[who].held {
                let state = [State::Progressing, State::Healthy, State::Degraded, State::Unknown, State::Failed][what];
                if fleet[who].state != state {
                    (fleet[who].state, fleet[who].since) = (state, now);
                }
            }
            let before = fleet.clone();
            let (was, state) = (rollout.wave, rollout.state.clone());
            let step = rollout.step("w", &tallies(&rollout, &fleet, now), now);
            let_go(&step, &mut fleet, now);
            prop_assert!(rollout.wave >= was, "it never goes back");
            if state.needs_a_person() {
                prop_assert!(fleet.iter().zip(&before).all(|(now, then)| now.held == then.held || then.wave < was as usize));
            }
            for toy in fleet.iter().zip(&before).filter(|(now, then)| then.held && !now.held).map(|(now, _)| now) {
                prop_assert!(toy.wave <= rollout.wave as usize);
            }
            let left = |toy: &&Toy| (was..rollout.wave).contains(&(toy.wave as u32));
            prop_assert!(before.iter().filter(left).all(|toy| !toy.held && !toy.state.is_moving()));
            for (at, wave) in strategy.waves.iter().enumerate() {
                let most = wave.concurrency(u32::MAX) as usize;
                let going = fleet.iter().filter(|toy| toy.wave == at && toy.state == State::Queued && toy.since == now);
                prop_assert!(going.count() <= most);
            }
        }
    }

    #[test]
    fn with_healthy_clusters_and_every_yes_it_reaches_every_cluster(strategy in any_strategy(), n in 1..9_u32) {
        let mut fleet = fleet_of(&strategy, n);
        let mut rollout = Rollout::new(WorkloadId::from_parts(1, 1), (None, 1), strategy, Timestamp::default());
        let mut now = Timestamp::default();
        for _ in 0..100 {
            let step = rollout.step("w", &tallies(&rollout, &fleet, now), now);
            let_go(&step, &mut fleet, now);
            for toy in fleet.iter_mut().filter(|toy| !toy.held) {
                toy.state = State::Healthy;
            }
            if rollout.can(RolloutVerb::Approve).is_ok() {
                rollout.steer(RolloutVerb::Approve, "ann", now).unwrap();
            }
            now = step.again_at.unwrap_or(now).max(now.plus_millis(1));
        }
        prop_assert_eq!(rollout.state, RolloutState::Completed);
        prop_assert!(fleet.iter().all(|toy| !toy.held));
    }
}
