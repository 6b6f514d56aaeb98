//! Releases as rows.

use domain::Digest;
use domain::cluster::Reach;
use domain::health::{Health, HealthStatus};
use domain::object::ObjectRef;
use domain::release::{Rendered, StageName, StageState, State};
use domain::report::{ResourceStatus, Since};
use domain::workload::{DeletionPolicy, Policies};

use super::both::for_both;
use super::fixtures::{at, cluster_id, fleet, full_fleet, release_id, report, some_release, workload_id};
use crate::{Error, release};

#[tokio::test]
async fn a_release_reads_back_as_it_was_written() {
    for_both(|store| async move {
        fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut one = some_release(1, 1, 1);
        release::insert(&mut tx, &one).await.unwrap();
        assert_eq!(release::get(&mut tx, one.id).await.unwrap().as_ref(), Some(&one));
        one.record(&report(&one, Health::healthy()), at(7)).unwrap();
        assert!(release::update(&mut tx, &one).await.unwrap());
        one.remove(DeletionPolicy::Orphan, "It's \"over\"", at(8));
        assert_eq!(release::update_many(&mut tx, &[one.clone(), some_release(2, 1, 2)]).await.unwrap(), 1);
        let found = release::by_workload_cluster(&mut tx, workload_id(1), cluster_id(1)).await.unwrap();
        assert_eq!(found.as_ref(), Some(&one));
        assert_eq!(release::all_of_workload(&mut tx, workload_id(1)).await.unwrap(), [one.clone()]);
        assert_eq!(release::many(&mut tx, &[release_id(9), one.id]).await.unwrap(), [one]);
        assert!(!release::update(&mut tx, &some_release(2, 1, 2)).await.unwrap(), "was never there");
    })
    .await;
}

#[tokio::test]
async fn a_workload_has_one_release_per_cluster() {
    for_both(|store| async move {
        fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        release::insert(&mut tx, &some_release(1, 1, 1)).await.unwrap();
        let second = release::insert(&mut tx, &some_release(2, 1, 1)).await.unwrap_err();
        assert!(matches!(&second, Error::Unique { what } if what == "release"), "{second:?}");
    })
    .await;
}

#[tokio::test]
async fn a_cluster_is_told_of_what_is_expected_of_it_and_of_nothing_else() {
    for_both(|store| async move {
        full_fleet(&store, 2, 4).await;
        let mut tx = store.write().await.unwrap();
        let mut all = release::of_cluster(&mut tx, cluster_id(1), &Default::default()).await.unwrap().items;
        all.sort_by_key(|(release, _)| release.id);
        let mut releases: Vec<_> = all.into_iter().map(|(release, _)| release).collect();
        releases[0].remove(DeletionPolicy::Foreground, "", at(1)); // sent once: something is expected
        releases[0].generation = 2;
        releases[1].goal = domain::release::ReleaseGoal::Removed { since: at(1) };
        releases[2].released = None; // never rendered
        release::update_many(&mut tx, &releases).await.unwrap();
        let wants = release::wants_of_cluster(&mut tx, cluster_id(1)).await.unwrap();
        let names: Vec<_> = wants.iter().map(|want| want.workload.as_str()).collect();
        assert!(
            names.contains(&"w-004") && !names.contains(&"w-002") && !names.contains(&"w-003"),
            "{names:?}"
        );
        let expected: Vec<_> = wants
            .iter()
            .zip(releases.iter().filter(|release| release.want("").is_some()))
            .map(|(want, release)| release.want(&want.workload).unwrap())
            .collect();
        assert_eq!(wants, expected);
    })
    .await;
}

#[tokio::test]
async fn objects_of_a_release_are_kept_beside_it() {
    for_both(|store| async move {
        full_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        let id = release_id(1001);
        assert_eq!(release::resources(&mut tx, id).await.unwrap(), []);
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
            since: Since { applied: Some(at(3)), ..Since::default() },
            ..ResourceStatus::default()
        };
        release::set_resources(&mut tx, id, std::slice::from_ref(&one)).await.unwrap();
        release::set_resources(&mut tx, id, std::slice::from_ref(&one)).await.unwrap();
        assert_eq!(release::resources(&mut tx, id).await.unwrap(), [one]);
    })
    .await;
}

#[tokio::test]
async fn a_cluster_that_is_removed_takes_its_releases_and_their_counts_along() {
    for_both(|store| async move {
        full_fleet(&store, 3, 2).await;
        let mut tx = store.write().await.unwrap();
        let mut workloads = release::delete_of_cluster(&mut tx, cluster_id(1)).await.unwrap();
        workloads.sort();
        assert_eq!(workloads, [workload_id(1), workload_id(2)]);
        tx.commit().await.unwrap();
        let mut tx = store.read().await.unwrap();
        assert_eq!(release::counts_all(&mut tx).await.unwrap().total(), 4);
    })
    .await;
}

#[tokio::test]
async fn a_silent_cluster_moves_its_releases_as_the_domain_would() {
    for_both(|store| async move {
        full_fleet(&store, 2, 4).await;
        let mut tx = store.write().await.unwrap();
        let mut all = release::of_cluster(&mut tx, cluster_id(1), &Default::default()).await.unwrap().items;
        let (healthy, rest) = all.split_first_mut().unwrap();
        healthy.0.record(&report(&healthy.0, Health::healthy()), at(10)).unwrap();
        rest[0].0.goal = domain::release::ReleaseGoal::Orphaned { since: at(11) };
        rest[0].0.state_since = at(11);
        let mut releases: Vec<_> = all.into_iter().map(|(release, _)| release).collect();
        release::update_many(&mut tx, &releases).await.unwrap();
        for (reach, when) in [
            (Reach::Late, 20),
            (Reach::Offline, 30),
            (Reach::Offline, 40),
            (Reach::Late, 50),
            (Reach::Offline, 60),
            (Reach::Online, 70),
        ] {
            let moved = release::reach_of_cluster(&mut tx, cluster_id(1), reach, at(when)).await.unwrap();
            let expected =
                releases.iter_mut().filter_map(|one| one.reached(reach, at(when)).then_some(())).count();
            assert_eq!(moved as usize, expected);
            for one in &releases {
                assert_eq!(release::get(&mut tx, one.id).await.unwrap().as_ref(), Some(one), "{reach:?}");
            }
        }
        let other = release::get(&mut tx, release_id(1002)).await.unwrap().unwrap();
        assert_eq!((other.reach, other.state()), (Reach::Online, State::Queued), "the other cluster's");
    })
    .await;
}

#[tokio::test]
async fn cells_tell_state_and_last_known_state_and_why() {
    for_both(|store| async move {
        full_fleet(&store, 3, 2).await;
        let mut tx = store.write().await.unwrap();
        let mut one = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
        let broken = Health::new(HealthStatus::Degraded, "CrashLoopBackOff", "web crashes");
        one.record(&report(&one, broken), at(5)).unwrap();
        release::update(&mut tx, &one).await.unwrap();
        release::reach_of_cluster(&mut tx, cluster_id(2), Reach::Offline, at(6)).await.unwrap();
        let ids = [workload_id(1)];
        let mut cells = release::cells(&mut tx, &ids, &[cluster_id(1), cluster_id(2)]).await.unwrap();
        cells.sort_by_key(|cell| cell.cluster);
        let told: Vec<_> = cells
            .iter()
            .map(|one| (one.cell.state, one.cell.last_known, one.cell.message.as_str()))
            .collect();
        let unheard = State::Queued.unheard();
        assert_eq!(
            told,
            [
                (State::Degraded, State::Degraded, "web crashes"),
                (State::Unknown, State::Queued, unheard.as_str())
            ]
        );
        for cell in cells {
            let release = release::get(&mut tx, cell.cell.release).await.unwrap().unwrap();
            assert_eq!((cell.cell.message, cell.cell.since), (release.message(), release.state_since));
        }
    })
    .await;
}

#[tokio::test]
async fn what_needs_a_person_is_told_once_per_cause() {
    for_both(|store| async move {
        full_fleet(&store, 8, 3).await;
        let mut tx = store.write().await.unwrap();
        let mut first = release::all_of_workload(&mut tx, workload_id(1)).await.unwrap();
        for (n, one) in first.iter_mut().enumerate().take(7) {
            let crash = Health::new(HealthStatus::Degraded, "CrashLoopBackOff", "web crashes");
            one.record(&report(one, crash), at(100 - n as i64)).unwrap();
        }
        let mut second = release::all_of_workload(&mut tx, workload_id(2)).await.unwrap();
        let trouble = |message: &str| {
            let trouble =
                domain::release::stage::Trouble { message: message.to_owned(), ..Default::default() };
            StageState::Failed(trouble)
        };
        second[2].stages.set(StageName::Notified, StageState::Done, at(200));
        second[2].stages.set(StageName::Pulled, trouble("no such bundle"), at(200));
        second[2].state_since = at(200);
        release::update_many(&mut tx, &first).await.unwrap();
        release::update_many(&mut tx, &second).await.unwrap();
        let attention = release::attention(&mut tx, 10).await.unwrap();
        let told: Vec<_> = attention
            .iter()
            .map(|one| {
                (&*one.workload_name, one.state, &*one.message, one.count, one.since, one.clusters.join(" "))
            })
            .collect();
        let five = "c-001 c-002 c-003 c-004 c-005".to_owned();
        assert_eq!(
            told,
            [
                ("w-002", State::Failed, "no such bundle", 1, at(200), "c-003".to_owned()),
                ("w-001", State::Degraded, "web crashes", 7, at(94), five),
            ]
        );
        assert_eq!(release::attention(&mut tx, 1).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_failed_render_keeps_what_runs() {
    for_both(|store| async move {
        full_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut one = release::get(&mut tx, release_id(1001)).await.unwrap().unwrap();
        one.target(2, Rendered::Failed(Default::default()), Policies::default(), at(3));
        release::update(&mut tx, &one).await.unwrap();
        let now = release::get(&mut tx, one.id).await.unwrap().unwrap();
        assert_eq!((now.desired, now.released), (None, Some(Digest::of(b"bundle"))));
    })
    .await;
}
