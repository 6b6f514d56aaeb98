//! Rollouts as rows, and the releases of their waves.

use domain::Digest;
use domain::cluster::Connectivity;
use domain::health::{Health, HealthStatus};
use domain::release::stage::StageReason;
use domain::release::{
    DesiredRevision, Reason, Release, ReleaseState, RenderOutcome, StageName, StageState, SyncStatus,
};
use domain::report::{ReleaseReport, StageReport};
use domain::rollout::{
    Admission, OnFailure, Rollout, RolloutAction, RolloutState, RolloutStrategy, Wave, WaveCounts,
};
use domain::workload::Policies;

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, release_report, some_release, workload_id};
use crate::queue::{PLACER, ROLLOUTS};
use crate::retention::{RetainedTable, delete_batch};
use crate::{Error, Tx, artifact, decision, release, rollout};

fn some_rollout(revision: u32) -> Rollout {
    let wave = |name: &str| Wave { name: name.to_owned(), ..Wave::default() };
    let strategy = RolloutStrategy { waves: vec![wave("one"), wave("two")], ..RolloutStrategy::default() };
    Rollout::new(workload_id(1), (None, revision), strategy, at(0))
}

/// A release that is gated for this revision and wave.
fn gated_release(n: u128, revision: u32, wave: u32) -> Release {
    gate(some_release(n, 1, n), revision, wave)
}

fn gate(mut release: Release, revision: u32, wave: u32) -> Release {
    release.set_wave(Some(wave));
    let rendered = RenderOutcome::Bundle(Digest::compute(b"next"));
    release.gate_revision(
        DesiredRevision { revision, outcome: rendered, policies: Policies::default() },
        "Waits for its wave.",
        at(1),
    );
    release
}

#[tokio::test]
async fn a_rollout_reads_back_as_it_was_written_and_one_is_active() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 2).await;
        let mut tx = store.write().await.unwrap();
        let mut one = some_rollout(1);
        rollout::insert(&mut tx, &one).await.unwrap();
        assert_eq!(rollout::get(&mut tx, workload_id(1), 1).await.unwrap().as_ref(), Some(&one));
        assert_eq!(decision::get_placed_revision(&mut tx, workload_id(1)).await.unwrap(), 0);
        decision::set_placed_revision(&mut tx, workload_id(1), 1).await.unwrap();
        assert_eq!(decision::get_placed_revision(&mut tx, workload_id(1)).await.unwrap(), 1);
        assert_eq!(rollout::get_open(&mut tx, workload_id(1)).await.unwrap().as_ref(), Some(&one));
        assert!(rollout::is_affected(&mut tx, workload_id(1), None).await.unwrap());
        assert_eq!(rollout::list_needing_attention(&mut tx, 9).await.unwrap(), []);
        one.apply_action(RolloutAction::Pause, "ana", at(1)).unwrap();
        rollout::update(&mut tx, &one).await.unwrap();
        assert_eq!(rollout::count_needing_attention(&mut tx).await.unwrap(), 1);
        assert_eq!(
            rollout::list_needing_attention(&mut tx, 9).await.unwrap(),
            [("w-001".to_owned(), one.clone())]
        );
        one.supersede(at(2));
        assert!(rollout::update(&mut tx, &one).await.unwrap());
        assert_eq!(rollout::get_open(&mut tx, workload_id(1)).await.unwrap(), None);
        rollout::insert(&mut tx, &some_rollout(2)).await.unwrap();
        let old = rollout::get(&mut tx, workload_id(1), 1).await.unwrap().unwrap();
        assert_eq!(old.state, RolloutState::Superseded);
        assert_eq!(rollout::get(&mut tx, workload_id(2), 1).await.unwrap(), None);
        assert!(!rollout::update(&mut tx, &some_rollout(7)).await.unwrap(), "it does not exist");
        // The last statement: PostgreSQL rejects further ones after an error.
        let twice = rollout::insert(&mut tx, &some_rollout(2)).await.unwrap_err();
        assert!(matches!(&twice, Error::AlreadyExists { what } if what == "rollout"), "{twice:?}");
    })
    .await;
}

#[tokio::test]
async fn releases_are_counted_by_wave_and_state() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 7, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut broken = some_release(1, 1, 1);
        broken.set_wave(Some(0));
        let bad = Health::new(HealthStatus::Degraded, "Bad", "It is bad.");
        broken.apply_report(&release_report(&broken, bad), at(500)).unwrap();
        let mut good = some_release(2, 1, 2);
        good.set_wave(Some(0));
        good.apply_report(&release_report(&good, Health::healthy()), at(600)).unwrap();
        let mut sent = some_release(3, 1, 3);
        sent.set_wave(Some(1));
        let elsewhere = some_release(7, 1, 7);
        let mut of_another = gated_release(6, 2, 0);
        assert!(of_another.admit(Policies::default(), at(1)));
        let all = [broken, good, sent, gated_release(4, 1, 1), gated_release(5, 1, 1), of_another, elsewhere];
        release::insert_many(&mut tx, &all).await.unwrap();
        let early = rollout::count_waves(&mut tx, &some_rollout(1), at(499)).await.unwrap();
        let first = WaveCounts {
            operational: 1,
            recently_failing: 1,
            recently_failing_since: Some(at(500)),
            ..WaveCounts::default()
        };
        assert_eq!(early, [first, WaveCounts { gated: 2, in_transition: 1, ..WaveCounts::default() }]);
        let later = rollout::count_waves(&mut tx, &some_rollout(1), at(500)).await.unwrap();
        assert_eq!((later[0].failing, later[0].recently_failing_since), (1, None));
    })
    .await;
}

#[tokio::test]
async fn s1_10_releases_that_fail_and_were_never_operational_are_listed_until_they_are_rolled_back() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 3, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut one = some_rollout(1);
        one.strategy.on_failure = OnFailure::RollbackCluster;
        rollout::insert(&mut tx, &one).await.unwrap();
        let bad = || Health::new(HealthStatus::Degraded, "Bad", "It is bad.");
        let failing = |n: u128, since: i64| {
            let mut release = some_release(n, 1, n);
            release.set_wave(Some(0));
            release.apply_report(&release_report(&release, bad()), at(since)).unwrap();
            release
        };
        let mut operational = some_release(3, 1, 3);
        operational.set_wave(Some(0));
        operational.apply_report(&release_report(&operational, Health::healthy()), at(400)).unwrap();
        operational.apply_report(&release_report(&operational, bad()), at(500)).unwrap();
        release::insert_many(&mut tx, &[failing(1, 600), failing(2, 500), operational]).await.unwrap();
        let mut listed = rollout::list_failing(&mut tx, &one, 9).await.unwrap();
        assert_eq!(listed, [failing(1, 600), failing(2, 500)]);
        let longest = rollout::list_failing(&mut tx, &one, 1).await.unwrap();
        assert_eq!(longest, [failing(2, 500)]);

        let mut back = listed.remove(0);
        assert!(back.roll_back_failing(at(700)));
        assert!(release::update(&mut tx, &back).await.unwrap());
        assert_eq!(rollout::list_failing(&mut tx, &one, 9).await.unwrap(), listed);
        let waves = rollout::count_waves(&mut tx, &one, at(0)).await.unwrap();
        assert_eq!((waves[0].rolled_back, waves[0].recently_failing), (1, 2), "it is a failure at once");

        one.supersede(at(900));
        rollout::update(&mut tx, &one).await.unwrap();
        assert!(rollout::is_affected(&mut tx, workload_id(1), Some(1)).await.unwrap(), "it rolls back later");
        assert!(!rollout::is_affected(&mut tx, workload_id(1), Some(2)).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_release_that_waits_for_another_workload_is_deferred_whatever_its_earlier_revision_does() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 4, 1).await;
        let mut tx = store.write().await.unwrap();
        let waiting = |n: u128, status: HealthStatus| {
            let mut release = some_release(n, 1, n);
            release.set_wave(Some(0));
            let health = Health::new(status, "Bad", "It is bad.");
            release.apply_report(&release_report(&release, health), at(1)).unwrap();
            let outcome = RenderOutcome::Bundle(Digest::compute(b"next"));
            let next = DesiredRevision { revision: 2, outcome, policies: Policies::default() };
            assert!(!release.await_dependency(next, "Waits for db.", at(2)));
            release
        };
        let failing = waiting(1, HealthStatus::Degraded);
        assert_eq!(failing.state(), ReleaseState::Degraded);
        let mut silent = waiting(2, HealthStatus::Healthy);
        silent.set_connectivity(Connectivity::Offline, at(3));
        assert_eq!(silent.state(), ReleaseState::Unknown);
        let mut unrendered = some_release(3, 1, 3);
        unrendered.set_wave(Some(0));
        let failed = RenderOutcome::Failed(StageReason::new(Reason::RenderFailed, "It can't be rendered."));
        unrendered.set_desired_revision(2, failed, Policies::default(), at(2));
        let mut delivered = gated_release(4, 2, 1);
        assert!(delivered.admit(Policies::default(), at(3)));
        let bad = Health::new(HealthStatus::Degraded, "Bad", "It is bad.");
        delivered.apply_report(&release_report(&delivered, bad), at(4)).unwrap();
        release::insert_many(&mut tx, &[failing, silent, unrendered, delivered]).await.unwrap();
        let counts = rollout::count_waves(&mut tx, &some_rollout(2), at(9)).await.unwrap();
        let first = WaveCounts { deferred: 2, failing: 1, ..WaveCounts::default() };
        assert_eq!(counts, [first, WaveCounts { failing: 1, ..WaveCounts::default() }]);
    })
    .await;
}

#[tokio::test]
async fn gated_releases_are_listed_by_wave_and_cluster_name_up_to_the_limit() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 5, 1).await;
        let mut tx = store.write().await.unwrap();
        let all = [
            gated_release(1, 2, 2),
            gated_release(2, 2, 1),
            gated_release(3, 2, 1),
            gated_release(4, 2, 0),
            some_release(5, 1, 5),
        ];
        release::insert_many(&mut tx, &all).await.unwrap();
        let ids = |found: Vec<Release>| found.into_iter().map(|one| one.id()).collect::<Vec<_>>();
        let of_rollout = some_rollout(2);
        let list_gated = async |tx: &mut Tx, wave, most, limit| {
            rollout::list_gated(tx, &of_rollout, Admission { wave, limit: most }, limit).await.unwrap()
        };
        let some = ids(list_gated(&mut tx, 1, 1, 100).await);
        assert_eq!(some, [all[1].id(), all[3].id()], "every earlier one, and one of this wave");
        assert_eq!(ids(list_gated(&mut tx, 1, 9, 2).await), [all[1].id(), all[3].id()]);
        assert_eq!(list_gated(&mut tx, u32::MAX, 0, 100).await.len(), 4);
        let other =
            rollout::list_gated(&mut tx, &some_rollout(1), Admission { wave: 9, limit: 9 }, 9).await.unwrap();
        assert_eq!(other, [], "of another revision");
        let read = release::get(&mut tx, all[0].id()).await.unwrap().unwrap();
        assert_eq!((read.wave(), read.released_revision(), read.revision()), (Some(2), Some(1), Some(2)));
        assert_eq!(read, all[0]);
    })
    .await;
}

#[tokio::test]
async fn what_a_rollback_releases_again_is_stored_with_its_bundle_until_it_is_rolled_back() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 4, 1).await;
        let mut tx = store.write().await.unwrap();
        let before = Digest::compute(b"bundle");
        artifact::put(&mut tx, &before, b"bundle", at(0)).await.unwrap();
        let mut all = [(1, 0), (2, 1), (3, 1)].map(|(n, wave)| {
            let mut release = some_release(n, 1, n);
            release.apply_report(&release_report(&release, Health::healthy()), at(1)).unwrap();
            gate(release, 2, wave)
        });
        for admitted in &mut all[..2] {
            assert!(admitted.admit(Policies::default(), at(2)));
        }
        release::insert_many(&mut tx, &all).await.unwrap();
        let ids = |found: Vec<Release>| found.into_iter().map(|one| one.id()).collect::<Vec<_>>();
        let rollout = some_rollout(2);
        let of_all = rollout::list_to_roll_back(&mut tx, &rollout, 0, 9).await.unwrap();
        assert_eq!(of_all, all[..2], "one that was not admitted has nothing to roll back");
        assert_eq!(of_all[0].rollback().map(|one| (one.revision, &one.bundle)), Some((1, &before)));
        let of_second = rollout::list_to_roll_back(&mut tx, &rollout, 1, 9).await.unwrap();
        assert_eq!(ids(of_second), [all[1].id()]);
        delete_batch(&mut tx, RetainedTable::Artifact, at(1_000_000_000_000), 9).await.unwrap();
        assert!(artifact::exists(&mut tx, &before).await.unwrap(), "it is retained");

        let mut second = all[1].clone();
        assert!(second.roll_back_with_rollout("1 of 2 clusters fails.", at(3)));
        assert!(!second.roll_back_with_rollout("1 of 2 clusters fails.", at(4)), "once");
        release::update(&mut tx, &second).await.unwrap();
        assert_eq!(release::get(&mut tx, second.id()).await.unwrap().unwrap(), second);
        assert_eq!(second.released(), Some(&before));
        assert_eq!(rollout::list_to_roll_back(&mut tx, &rollout, 1, 9).await.unwrap(), []);
        assert!(rollout::is_any_rolling_back(&mut tx, &rollout, 0).await.unwrap());
        let done = release_report(&second, Health::healthy());
        let refused = StageState::Failed(StageReason::new(Reason::AdmissionRejected, "no web here"));
        let stages = vec![StageReport { name: StageName::Applied, state: refused }];
        let failing = ReleaseReport { stages, sync: SyncStatus::Stale, ..done.clone() };
        second.apply_report(&failing, at(5)).unwrap();
        release::update(&mut tx, &second).await.unwrap();
        assert!(!rollout::is_any_rolling_back(&mut tx, &rollout, 0).await.unwrap(), "it fails with that");
        let applying = ReleaseReport { stages: Vec::new(), ..failing };
        second.apply_report(&applying, at(5)).unwrap();
        release::update(&mut tx, &second).await.unwrap();
        assert!(rollout::is_any_rolling_back(&mut tx, &rollout, 0).await.unwrap());
        second.apply_report(&done, at(5)).unwrap();
        release::update(&mut tx, &second).await.unwrap();
        assert!(!rollout::is_any_rolling_back(&mut tx, &rollout, 0).await.unwrap());
        let counts = rollout::count_waves(&mut tx, &rollout, at(9)).await.unwrap();
        assert_eq!(counts[1], WaveCounts { gated: 1, rolled_back: 1, ..WaveCounts::default() });
    })
    .await;
}

#[tokio::test]
async fn the_queues_are_independent() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 2).await;
        let mut tx = store.write().await.unwrap();
        let ids = [workload_id(1), workload_id(2)];
        rollout::insert(&mut tx, &some_rollout(1)).await.unwrap();
        ROLLOUTS.mark(&mut tx, &ids, at(5)).await.unwrap();
        PLACER.mark(&mut tx, &ids[1..], at(5)).await.unwrap();
        tx.write_marks().await.unwrap();
        assert!(!ROLLOUTS.has_due(&mut tx, at(4)).await.unwrap(), "it is marked for later");
        assert!(ROLLOUTS.has_due(&mut tx, at(5)).await.unwrap());
        let claimed = ROLLOUTS.claim(&mut tx, 9, at(5), at(99)).await.unwrap();
        assert_eq!(claimed.len(), 1, "a workload that never had a rollout has no row");
        assert_eq!(PLACER.claim(&mut tx, 9, at(5), at(99)).await.unwrap()[0].0, ids[1]);
        assert!(ROLLOUTS.settle(&mut tx, ids[0], claimed[0].1).await.unwrap());
        ROLLOUTS.mark_all(&mut tx, at(6)).await.unwrap();
        tx.write_marks().await.unwrap();
    })
    .await;
}
