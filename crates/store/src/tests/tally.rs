//! Counts equal a recount, whatever happened.

use std::collections::BTreeMap;

use domain::Digest;
use domain::cluster::Reach;
use domain::health::{Health, HealthStatus};
use domain::page::ListQuery;
use domain::release::{Release, Rendered};
use domain::rollup::Counts;
use domain::workload::{DeletionPolicy, Policies};

use super::both::for_both;
use super::fixtures::{Dice, at, cluster_id, fleet, release_id, report, some_release, workload_id};
use crate::{Store, Tx, release};

const CLUSTERS: u128 = 4;
const WORKLOADS: u128 = 3;

/// One random thing that happens to a release.
fn happen(one: &mut Release, dice: &mut Dice, when: i64) {
    match dice.roll(7) {
        0 => {
            let bundle = Digest::of(&[u8::try_from(dice.roll(3)).unwrap()]);
            one.target(2, Rendered::Bundle(bundle), Policies::default(), at(when));
        }
        1 => {
            one.target(2, Rendered::Failed(Default::default()), Policies::default(), at(when));
        }
        2 => {
            one.remove(DeletionPolicy::Foreground, "no longer placed", at(when));
        }
        3 => {
            one.abandon(at(when));
        }
        4 => one.record(&report(one, Health::healthy()), at(when)).unwrap_or_default(),
        5 => {
            let broken = Health::new(HealthStatus::Degraded, "", "");
            one.record(&report(one, broken), at(when)).unwrap_or_default();
        }
        _ => {
            let gone = domain::report::ReleaseReport { gone: true, ..report(one, Health::default()) };
            one.record(&gone, at(when)).unwrap_or_default();
        }
    }
}

/// One random transaction, committed or dropped.
async fn step(store: &Store, dice: &mut Dice, when: i64) {
    let mut tx = store.write().await.unwrap();
    let workload = u128::from(dice.roll(3)) + 1;
    let cluster = u128::from(dice.roll(4)) + 1;
    for _ in 0..=dice.roll(3) {
        match dice.roll(8) {
            0 => {
                let reach = [Reach::Online, Reach::Late, Reach::Offline][dice.roll(3) as usize];
                release::reach_of_cluster(&mut tx, cluster_id(cluster), reach, at(when)).await.unwrap();
            }
            1 => {
                release::delete_of_cluster(&mut tx, cluster_id(cluster)).await.unwrap();
            }
            2 | 3 => {
                let mut all = release::all_of_workload(&mut tx, workload_id(workload)).await.unwrap();
                all.iter_mut().for_each(|one| happen(one, dice, when));
                release::update_many(&mut tx, &all).await.unwrap();
            }
            _ => {
                let there = release::by_workload_cluster(&mut tx, workload_id(workload), cluster_id(cluster));
                match there.await.unwrap() {
                    Some(mut one) => {
                        happen(&mut one, dice, when);
                        release::update(&mut tx, &one).await.unwrap();
                    }
                    None => {
                        let id = u128::try_from(when).unwrap() * 10 + u128::from(dice.roll(10)) * 1_000_000;
                        let mut new = some_release(id, workload, cluster);
                        new.reached(Reach::Late, at(when));
                        release::insert(&mut tx, &new).await.unwrap();
                    }
                }
            }
        }
    }
    check(&mut tx).await;
    if dice.roll(4) > 0 {
        tx.commit().await.unwrap();
    }
}

/// Whatever is derived says the same as the releases themselves.
async fn check(tx: &mut Tx) {
    let (mut all, mut per_cluster) = (Counts::default(), BTreeMap::<_, Counts>::new());
    for n in 1..=WORKLOADS {
        let releases = release::all_of_workload(tx, workload_id(n)).await.unwrap();
        let counts: Counts = releases.iter().map(Release::state).collect();
        for one in &releases {
            per_cluster.entry(one.cluster).or_default().add(one.state(), 1);
        }
        let kept = release::counts_by_workload(tx, &[workload_id(n)]).await.unwrap();
        assert_eq!(kept[&workload_id(n)], counts);
        all.add_all(&counts);
        let worst = release::of_workload(tx, workload_id(n), &ListQuery::default()).await.unwrap().items;
        let states: Vec<_> = worst.iter().map(|(one, ..)| one.state()).collect();
        assert!(states.is_sorted_by(|a, b| a >= b), "the derived rank is the state's: {states:?}");
        for state in domain::release::State::ALL {
            let query = ListQuery { state: state.word().to_owned(), ..ListQuery::default() };
            let page = release::of_workload(tx, workload_id(n), &query).await.unwrap();
            assert_eq!(page.total, counts.of(state), "the derived word is the state's: {state:?}");
        }
    }
    assert_eq!(release::counts_all(tx).await.unwrap(), all);
    let ids: Vec<_> = (1..=CLUSTERS).map(cluster_id).collect();
    let kept = release::counts_by_cluster(tx, &ids).await.unwrap();
    for id in ids {
        assert_eq!(kept[&id], per_cluster.remove(&id).unwrap_or_default());
    }
}

#[tokio::test]
async fn counts_and_derived_states_follow_whatever_happens() {
    for_both(|store| async move {
        fleet(&store, CLUSTERS, WORKLOADS).await;
        for seed in [11, 97, 4_242] {
            let mut dice = Dice(seed);
            for n in 0..40 {
                step(&store, &mut dice, 1_000 * i64::try_from(seed).unwrap() + n).await;
            }
        }
        check(&mut store.read().await.unwrap()).await;
        // The check means something only if something is there.
        let mut tx = store.read().await.unwrap();
        assert!(release::counts_all(&mut tx).await.unwrap().total() > 3);
        assert!(release::get(&mut tx, release_id(0)).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn counts_are_exact_when_several_write_at_once() {
    for_both(|store| async move {
        super::fixtures::full_fleet(&store, CLUSTERS, WORKLOADS).await;
        let busy = |store: Store, n: u128| async move {
            let mut dice = Dice(u64::try_from(n).unwrap() * 7 + 1);
            for turn in 0..15 {
                // A deadlock between two that lock the same rows is answered with Busy: try again, as the hub does.
                while let Err(error) = one_cluster(&store, n, &mut dice, turn).await {
                    assert!(error.is_busy(), "{error}");
                }
            }
        };
        let tasks: Vec<_> = (1..=CLUSTERS).map(|n| tokio::spawn(busy(store.clone(), n))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        check(&mut store.read().await.unwrap()).await;
    })
    .await;
}

/// What one cluster reports, mixed with another one falling silent.
async fn one_cluster(store: &Store, n: u128, dice: &mut Dice, turn: i64) -> Result<(), crate::Error> {
    let mut tx = store.write().await?;
    let ids: Vec<_> = (1..=WORKLOADS).map(|w| release_id(w * 1000 + n)).collect();
    let mut mine = release::many(&mut tx, &ids).await?;
    mine.iter_mut().for_each(|one| happen(one, dice, turn));
    release::update_many(&mut tx, &mine).await?;
    if dice.roll(3) == 0 {
        let reach = [Reach::Online, Reach::Late, Reach::Offline][dice.roll(3) as usize];
        let other = cluster_id(u128::from(dice.roll(4)) + 1);
        release::reach_of_cluster(&mut tx, other, reach, at(turn)).await?;
    }
    tx.commit().await.map(drop)
}
