//! Stored counts equal a recount after random changes.

use std::collections::BTreeMap;

use domain::Digest;
use domain::cluster::Connectivity;
use domain::health::{Health, HealthStatus};
use domain::page::ListQuery;
use domain::release::stage::StageReason;
use domain::release::{Reason, Release, RenderOutcome};
use domain::rollup::ReleaseCounts;
use domain::workload::{DeletionPolicy, Policies};

use super::databases::for_each_engine;
use super::fixtures::{
    SeededRng, at, cluster_id, insert_fleet, release_id, release_report, some_release, workload_id,
};
use crate::{Store, Tx, release};

const CLUSTERS: u128 = 4;
const WORKLOADS: u128 = 3;

/// Applies one random change to a release.
fn apply_random_change(one: &mut Release, dice: &mut SeededRng, when: i64) {
    match dice.next_below(7) {
        0 => {
            let bundle = Digest::compute(&[u8::try_from(dice.next_below(3)).unwrap()]);
            one.set_desired_revision(2, RenderOutcome::Bundle(bundle), Policies::default(), at(when));
        }
        1 => {
            one.set_desired_revision(
                2,
                RenderOutcome::Failed(StageReason::new(Reason::RenderFailed, "")),
                Policies::default(),
                at(when),
            );
        }
        2 => {
            one.remove(DeletionPolicy::Foreground, "no longer placed", at(when));
        }
        3 => {
            one.abandon(at(when));
        }
        4 => one.apply_report(&release_report(one, Health::healthy()), at(when)).unwrap_or_default(),
        5 => {
            let broken = Health::new(HealthStatus::Degraded, "", "");
            one.apply_report(&release_report(one, broken), at(when)).unwrap_or_default();
        }
        _ => {
            let gone =
                domain::report::ReleaseReport { removed: true, ..release_report(one, Health::default()) };
            one.apply_report(&gone, at(when)).unwrap_or_default();
        }
    }
}

/// Runs one random transaction, and commits or drops it.
async fn run_random_transaction(store: &Store, dice: &mut SeededRng, when: i64) {
    let mut tx = store.write().await.unwrap();
    let workload = u128::from(dice.next_below(3)) + 1;
    let cluster = u128::from(dice.next_below(4)) + 1;
    for _ in 0..=dice.next_below(3) {
        match dice.next_below(8) {
            0 => {
                let reach = [Connectivity::Online, Connectivity::Late, Connectivity::Offline]
                    [dice.next_below(3) as usize];
                release::set_connectivity_by_cluster(&mut tx, cluster_id(cluster), reach, at(when))
                    .await
                    .unwrap();
            }
            1 => {
                release::delete_by_cluster(&mut tx, cluster_id(cluster)).await.unwrap();
            }
            2 | 3 => {
                let mut all = release::list_all_by_workload(&mut tx, workload_id(workload)).await.unwrap();
                all.iter_mut().for_each(|one| apply_random_change(one, dice, when));
                release::update_many(&mut tx, &all).await.unwrap();
            }
            _ => {
                let there =
                    release::get_by_workload_and_cluster(&mut tx, workload_id(workload), cluster_id(cluster));
                match there.await.unwrap() {
                    Some(mut one) => {
                        apply_random_change(&mut one, dice, when);
                        release::update(&mut tx, &one).await.unwrap();
                    }
                    None => {
                        let id =
                            u128::try_from(when).unwrap() * 10 + u128::from(dice.next_below(10)) * 1_000_000;
                        let mut new = some_release(id, workload, cluster);
                        new.set_connectivity(Connectivity::Late, at(when));
                        release::insert(&mut tx, &new).await.unwrap();
                    }
                }
            }
        }
    }
    assert_derived_data(&mut tx).await;
    if dice.next_below(4) > 0 {
        tx.commit().await.unwrap();
    }
}

/// Asserts that all derived data equals what follows from the releases.
async fn assert_derived_data(tx: &mut Tx) {
    let (mut all, mut per_cluster) = (ReleaseCounts::default(), BTreeMap::<_, ReleaseCounts>::new());
    let mut last_known = BTreeMap::<_, ReleaseCounts>::new();
    for n in 1..=WORKLOADS {
        let releases = release::list_all_by_workload(tx, workload_id(n)).await.unwrap();
        let counts: ReleaseCounts = releases.iter().map(Release::state).collect();
        for one in &releases {
            per_cluster.entry(one.cluster()).or_default().add(one.state(), 1);
            last_known.entry(one.cluster()).or_default().add(one.last_known_state(), 1);
        }
        let stored = release::counts_by_workload(tx, &[workload_id(n)]).await.unwrap();
        assert_eq!(stored[&workload_id(n)], counts);
        all.add_all(&counts);
        let worst = release::list_by_workload(tx, workload_id(n), &ListQuery::default()).await.unwrap().items;
        let states: Vec<_> = worst.iter().map(|(one, ..)| one.state()).collect();
        assert!(states.is_sorted_by(|a, b| a >= b), "the stored rank matches the state: {states:?}");
        for &state in domain::release::ReleaseState::ALL {
            let query = ListQuery { state: state.as_str().to_owned(), ..ListQuery::default() };
            let page = release::list_by_workload(tx, workload_id(n), &query).await.unwrap();
            assert_eq!(page.total, counts.count(state), "the stored state matches the release: {state:?}");
        }
    }
    assert_eq!(release::counts_all(tx).await.unwrap(), all);
    let ids: Vec<_> = (1..=CLUSTERS).map(cluster_id).collect();
    let counted = release::counts_by_cluster(tx, &ids).await.unwrap();
    let counted_last = release::last_known_counts_by_cluster(tx, &ids).await.unwrap();
    for id in ids {
        assert_eq!(counted[&id], per_cluster.remove(&id).unwrap_or_default());
        assert_eq!(counted_last[&id], last_known.remove(&id).unwrap_or_default());
    }
}

#[tokio::test]
async fn counts_and_derived_states_match_the_releases_after_random_changes() {
    for_each_engine(|store| async move {
        insert_fleet(&store, CLUSTERS, WORKLOADS).await;
        for seed in [11, 97, 4_242] {
            let mut dice = SeededRng(seed);
            for n in 0..40 {
                run_random_transaction(&store, &mut dice, 1_000 * i64::try_from(seed).unwrap() + n).await;
            }
        }
        assert_derived_data(&mut store.read().await.unwrap()).await;
        // Without any release the check would prove nothing.
        let mut tx = store.read().await.unwrap();
        assert!(release::counts_all(&mut tx).await.unwrap().total() > 3);
        assert!(release::get(&mut tx, release_id(0)).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn counts_are_exact_with_concurrent_writers() {
    for_each_engine(|store| async move {
        super::fixtures::insert_full_fleet(&store, CLUSTERS, WORKLOADS).await;
        let busy = |store: Store, n: u128| async move {
            let mut dice = SeededRng(u64::try_from(n).unwrap() * 7 + 1);
            for turn in 0..15 {
                // A deadlock between writers of the same rows is returned as Busy: retry, as the hub does.
                while let Err(error) = report_from_cluster(&store, n, &mut dice, turn).await {
                    assert!(
                        matches!(error, crate::Error::Unavailable(crate::DatabaseOutage::TimedOut, _)),
                        "{error}"
                    );
                }
            }
        };
        let tasks: Vec<_> = (1..=CLUSTERS).map(|n| tokio::spawn(busy(store.clone(), n))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_derived_data(&mut store.read().await.unwrap()).await;
    })
    .await;
}

/// Reports of one cluster, mixed with changes of the connectivity of another.
async fn report_from_cluster(
    store: &Store,
    n: u128,
    dice: &mut SeededRng,
    turn: i64,
) -> Result<(), crate::Error> {
    let mut tx = store.write().await?;
    let ids: Vec<_> = (1..=WORKLOADS).map(|w| release_id(w * 1000 + n)).collect();
    let mut mine = release::get_many(&mut tx, &ids).await?;
    mine.iter_mut().for_each(|one| apply_random_change(one, dice, turn));
    release::update_many(&mut tx, &mine).await?;
    if dice.next_below(3) == 0 {
        let reach =
            [Connectivity::Online, Connectivity::Late, Connectivity::Offline][dice.next_below(3) as usize];
        let other = cluster_id(u128::from(dice.next_below(4)) + 1);
        release::set_connectivity_by_cluster(&mut tx, other, reach, at(turn)).await?;
    }
    tx.commit().await.map(drop)
}
