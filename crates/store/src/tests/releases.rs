//! Releases as rows.

use domain::Digest;
use domain::cluster::Connectivity;
use domain::health::{Health, HealthStatus};
use domain::object::ObjectRef;
use domain::release::stage::StageReason;
use domain::release::{Reason, Release, ReleaseState, RenderOutcome, StageName, StageState, SyncStatus};
use domain::report::{ReleaseReport, ResourceStatus, StageReport, TransitionTimes};
use domain::workload::{DeletionPolicy, Policies};

use super::databases::for_each_engine;
use super::fixtures::{
    at, cluster_id, complete_removal, insert_fleet, insert_full_fleet, release_id, release_report,
    some_release, workload_id,
};
use crate::{Error, release};

#[tokio::test]
async fn a_release_reads_back_as_it_was_written() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut one = some_release(1, 1, 1);
        release::insert(&mut tx, &one).await.unwrap();
        assert_eq!(release::get(&mut tx, one.id()).await.unwrap().as_ref(), Some(&one));
        one.apply_report(&release_report(&one, Health::healthy()), at(7)).unwrap();
        assert!(release::update(&mut tx, &one).await.unwrap());
        one.remove(DeletionPolicy::Orphan, "It's \"over\"", at(8));
        assert_eq!(release::update_many(&mut tx, &[one.clone(), some_release(2, 1, 2)]).await.unwrap(), 1);
        let found =
            release::get_by_workload_and_cluster(&mut tx, workload_id(1), cluster_id(1)).await.unwrap();
        assert_eq!(found.as_ref(), Some(&one));
        assert_eq!(release::list_all_by_workload(&mut tx, workload_id(1)).await.unwrap(), [one.clone()]);
        assert_eq!(release::get_many(&mut tx, &[release_id(9), one.id()]).await.unwrap(), [one]);
        assert!(!release::update(&mut tx, &some_release(2, 1, 2)).await.unwrap(), "it does not exist");
    })
    .await;
}

#[tokio::test]
async fn a_workload_has_one_release_per_cluster() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        release::insert(&mut tx, &some_release(1, 1, 1)).await.unwrap();
        let second = release::insert(&mut tx, &some_release(2, 1, 1)).await.unwrap_err();
        assert!(matches!(&second, Error::AlreadyExists { what } if what == "release"), "{second:?}");
    })
    .await;
}

#[tokio::test]
async fn the_desired_state_of_a_cluster_contains_only_its_desired_releases() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 4).await;
        let mut tx = store.write().await.unwrap();
        let mut all =
            release::list_by_cluster(&mut tx, cluster_id(1), &Default::default()).await.unwrap().items;
        all.sort_by_key(|(release, _)| release.id());
        let mut releases: Vec<_> = all.into_iter().map(|(release, _)| release).collect();
        releases[0].remove(DeletionPolicy::Foreground, "", at(1)); // released before: its removal is desired
        complete_removal(&mut releases[1], DeletionPolicy::Foreground, at(1));
        let third = &releases[2];
        releases[2] = Release::new(third.id(), third.workload(), third.cluster(), at(0)); // never rendered
        release::update_many(&mut tx, &releases).await.unwrap();
        let desired = release::list_desired_by_cluster(&mut tx, cluster_id(1)).await.unwrap();
        let names: Vec<_> = desired.iter().map(|one| one.workload.as_str()).collect();
        assert!(
            names.contains(&"w-004") && !names.contains(&"w-002") && !names.contains(&"w-003"),
            "{names:?}"
        );
        let expected: Vec<_> = desired
            .iter()
            .zip(releases.iter().filter(|release| release.desired_release("").is_some()))
            .map(|(one, release)| release.desired_release(&one.workload).unwrap())
            .collect();
        assert_eq!(desired, expected);
    })
    .await;
}

#[tokio::test]
async fn the_objects_of_a_release_read_back_as_they_were_written() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        let id = release_id(1001);
        assert_eq!(release::get_resources(&mut tx, id).await.unwrap(), []);
        let one = ResourceStatus {
            ordinal: 0,
            object: ObjectRef {
                version: "v1".to_owned(),
                kind: "Service".to_owned(),
                ..ObjectRef::default()
            },
            applied: true,
            health: Health::healthy(),
            drifted: vec!["/spec/ports/0/port".to_owned()],
            available: Some(true),
            resource: "services".to_owned(),
            since: TransitionTimes { applied: Some(at(3)), ..TransitionTimes::default() },
            ..ResourceStatus::default()
        };
        release::set_resources(&mut tx, id, std::slice::from_ref(&one)).await.unwrap();
        release::set_resources(&mut tx, id, std::slice::from_ref(&one)).await.unwrap();
        assert_eq!(release::get_resources(&mut tx, id).await.unwrap(), std::slice::from_ref(&one));
        let drifted = ResourceStatus { drifted: vec!["/a".to_owned(), "/b".to_owned()], ..one.clone() };
        release::set_resources(&mut tx, id, &[one.clone(), drifted]).await.unwrap();
        let fields = release::count_drifted_fields(&mut tx, &[id, release_id(999_999)]).await.unwrap();
        assert_eq!(fields.into_iter().collect::<Vec<_>>(), [(id, 3)]);
        let many =
            ResourceStatus { drifted: vec!["/a".to_owned(), "… 9999 more".to_owned()], ..one.clone() };
        release::set_resources(&mut tx, id, &[many]).await.unwrap();
        let fields = release::count_drifted_fields(&mut tx, &[id]).await.unwrap();
        assert_eq!(fields.into_iter().collect::<Vec<_>>(), [(id, 10_000)], "those left out are counted");
        release::set_resources(&mut tx, id, &[one.clone(), one]).await.unwrap();
        let fields = release::count_drifted_fields(&mut tx, &[id]).await.unwrap();
        assert_eq!(fields.into_iter().collect::<Vec<_>>(), [(id, 2)]);
        let counts = release::count_objects(&mut tx, &[workload_id(1), workload_id(2)]).await.unwrap();
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(workload_id(1), 2)]);
        assert_eq!(release::count_clusters(&mut tx, &[workload_id(1)]).await.unwrap(), 1);
        assert_eq!(release::count_clusters(&mut tx, &[]).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn deleting_the_releases_of_a_cluster_updates_the_counts() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 3, 2).await;
        let mut tx = store.write().await.unwrap();
        let mut workloads = release::delete_by_cluster(&mut tx, cluster_id(1)).await.unwrap();
        workloads.sort();
        assert_eq!(workloads, [workload_id(1), workload_id(2)]);
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        assert_eq!(release::counts_all(&mut tx).await.unwrap().total(), 4);
    })
    .await;
}

#[tokio::test]
async fn a_change_of_connectivity_changes_releases_as_the_domain_does() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 4).await;
        let mut tx = store.write().await.unwrap();
        let mut all =
            release::list_by_cluster(&mut tx, cluster_id(1), &Default::default()).await.unwrap().items;
        let (healthy, rest) = all.split_first_mut().unwrap();
        healthy.0.apply_report(&release_report(&healthy.0, Health::healthy()), at(10)).unwrap();
        complete_removal(&mut rest[0].0, DeletionPolicy::Orphan, at(11));
        let mut releases: Vec<_> = all.into_iter().map(|(release, _)| release).collect();
        release::update_many(&mut tx, &releases).await.unwrap();
        for (reach, when) in [
            (Connectivity::Late, 20),
            (Connectivity::Offline, 30),
            (Connectivity::Offline, 40),
            (Connectivity::Late, 50),
            (Connectivity::Offline, 60),
            (Connectivity::Online, 70),
        ] {
            let moved =
                release::set_connectivity_by_cluster(&mut tx, cluster_id(1), reach, at(when)).await.unwrap();
            let expected = releases
                .iter_mut()
                .filter_map(|one| one.set_connectivity(reach, at(when)).then_some(()))
                .count();
            assert_eq!(moved as usize, expected);
            for one in &releases {
                assert_eq!(release::get(&mut tx, one.id()).await.unwrap().as_ref(), Some(one), "{reach:?}");
            }
        }
        let other = release::get(&mut tx, release_id(1002)).await.unwrap().unwrap();
        assert_eq!(
            (other.connectivity(), other.state()),
            (Connectivity::Online, ReleaseState::Queued),
            "the other cluster is unchanged"
        );
    })
    .await;
}

#[tokio::test]
async fn cells_contain_state_last_known_state_and_message() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 3, 2).await;
        let mut tx = store.write().await.unwrap();
        let mut one = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
        let broken = Health::new(HealthStatus::Degraded, "CrashLoopBackOff", "web crashes");
        one.apply_report(&release_report(&one, broken), at(5)).unwrap();
        release::update(&mut tx, &one).await.unwrap();
        release::set_connectivity_by_cluster(&mut tx, cluster_id(2), Connectivity::Offline, at(6))
            .await
            .unwrap();
        let ids = [workload_id(1)];
        let mut cells = release::list_cells(&mut tx, &ids, &[cluster_id(1), cluster_id(2)]).await.unwrap();
        cells.sort_by_key(|cell| cell.cluster);
        let listed: Vec<_> = cells
            .iter()
            .map(|one| (one.cell.state, one.cell.last_known, one.cell.message.as_str()))
            .collect();
        let never_reported = ReleaseState::Queued.last_known_message();
        assert_eq!(
            listed,
            [
                (ReleaseState::Degraded, ReleaseState::Degraded, "web crashes"),
                (ReleaseState::Unknown, ReleaseState::Queued, never_reported.as_str())
            ]
        );
        for cell in cells {
            let release = release::get(&mut tx, cell.cell.release).await.unwrap().unwrap();
            assert_eq!((cell.cell.message, cell.cell.since), (release.message(), release.state_since()));
        }
    })
    .await;
}

#[tokio::test]
async fn failing_releases_are_listed_once_per_cause() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 8, 3).await;
        let mut tx = store.write().await.unwrap();
        let mut first = release::list_all_by_workload(&mut tx, workload_id(1)).await.unwrap();
        for (n, one) in first.iter_mut().enumerate().take(7) {
            let crash = Health::new(HealthStatus::Degraded, "CrashLoopBackOff", "web crashes");
            one.apply_report(&release_report(one, crash), at(100 - n as i64)).unwrap();
        }
        let mut second = release::list_all_by_workload(&mut tx, workload_id(2)).await.unwrap();
        let failed = StageState::Failed(StageReason::new(Reason::BundleFetchFailed, "no such bundle"));
        let states = [(StageName::Notified, StageState::Done), (StageName::Pulled, failed)];
        let report = ReleaseReport {
            stages: states.map(|(name, state)| StageReport { name, state }).into(),
            ..release_report(&second[2], Health::default())
        };
        second[2].apply_report(&report, at(200)).unwrap();
        release::update_many(&mut tx, &first).await.unwrap();
        release::update_many(&mut tx, &second).await.unwrap();
        let attention = release::list_attention(&mut tx, 10).await.unwrap();
        let listed: Vec<_> = attention
            .iter()
            .map(|one| {
                (&*one.workload_name, one.state, &*one.message, one.count, one.since, one.clusters.join(" "))
            })
            .collect();
        let five = "c-001 c-002 c-003 c-004 c-005".to_owned();
        assert_eq!(
            listed,
            [
                ("w-002", ReleaseState::Failed, "no such bundle", 1, at(200), "c-003".to_owned()),
                ("w-001", ReleaseState::Degraded, "web crashes", 7, at(94), five),
            ]
        );
        assert_eq!(release::list_attention(&mut tx, 1).await.unwrap().len(), 1);
        let some = [workload_id(1), workload_id(2), workload_id(9)];
        let mut messages = release::list_worst_messages(&mut tx, &some).await.unwrap();
        messages.sort();
        let message = |n, text: &str| (workload_id(n), text.to_owned());
        assert_eq!(messages, [message(1, "web crashes"), message(2, "no such bundle")]);
    })
    .await;
}

#[tokio::test]
async fn drifted_releases_are_listed_after_failing_ones_and_no_longer_once_they_are_reverted() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 2).await;
        let mut tx = store.write().await.unwrap();
        let mut drifted = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
        drifted.apply_report(&release_report(&drifted, Health::healthy()), at(5)).unwrap();
        let report = release_report(&drifted, Health::healthy());
        drifted.apply_report(&ReleaseReport { sync: SyncStatus::Drifted, ..report.clone() }, at(6)).unwrap();
        assert_eq!(drifted.state(), ReleaseState::Drifted);
        let mut degraded = release::get(&mut tx, release_id(2002)).await.unwrap().unwrap();
        let crash = Health::new(HealthStatus::Degraded, "CrashLoopBackOff", "web crashes");
        degraded.apply_report(&release_report(&degraded, crash), at(7)).unwrap();
        release::update_many(&mut tx, &[drifted.clone(), degraded]).await.unwrap();
        tx.commit().await.unwrap();
        let listed = async || {
            let mut tx = store.read().await.unwrap();
            let items = release::list_attention(&mut tx, 10).await.unwrap();
            items.into_iter().map(|one| (one.workload_name, one.state, one.since)).collect::<Vec<_>>()
        };
        let failing = ("w-002".to_owned(), ReleaseState::Degraded, at(7));
        let drift = ("w-001".to_owned(), ReleaseState::Drifted, at(6));
        assert_eq!(listed().await, [failing.clone(), drift]);
        let mut tx = store.write().await.unwrap();
        drifted.apply_report(&report, at(8)).unwrap();
        release::update(&mut tx, &drifted).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(listed().await, [failing]);
    })
    .await;
}

#[tokio::test]
async fn a_failed_render_retains_the_released_bundle() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut one = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
        one.set_desired_revision(
            2,
            RenderOutcome::Failed(StageReason::new(Reason::RenderFailed, "")),
            Policies::default(),
            at(3),
        );
        release::update(&mut tx, &one).await.unwrap();
        let now = release::get(&mut tx, one.id()).await.unwrap().unwrap();
        assert_eq!((now.desired(), now.released()), (None, Some(&Digest::compute(b"bundle"))));
    })
    .await;
}
