//! Refs of Git repositories that drafts follow.

use domain::remote::RemoteSource;
use domain::workload::{Source, Workload};

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, some_workload};
use crate::{git, workload};

/// A workload whose draft follows one ref, the same for all.
fn follower(n: u128, name: &str, created_by: &str) -> Workload {
    follower_of(n, name, created_by, "main")
}

/// The same with a ref.
fn follower_of(n: u128, name: &str, created_by: &str, reference: &str) -> Workload {
    let source = RemoteSource {
        repository: "https://git.example.com/deploy.git".to_owned(),
        reference: reference.to_owned(),
        ..RemoteSource::default()
    };
    let mut workload = some_workload(n, name);
    workload.draft.source = Source::Git(Box::new(source));
    workload.created_by = created_by.to_owned();
    workload.created_at = at(i64::try_from(n).unwrap());
    workload
}

#[tokio::test]
async fn p20_a_due_ref_is_read_for_who_created_the_first_of_the_workloads_that_follow_it() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut tx = store.write().await.unwrap();
        let (first, later) = (follower(1, "web", "ana"), follower(2, "api", "eve"));
        workload::insert(&mut tx, &later).await.unwrap();
        workload::insert(&mut tx, &first).await.unwrap();
        for (deleted, owner) in [(None, Some("ana")), (Some(&first), Some("eve")), (Some(&later), None)] {
            if let Some(deleted) = deleted {
                workload::delete(&mut tx, deleted.id).await.unwrap();
            }
            let due = git::list_due_refs(&mut tx, at(86_400_000), 10).await.unwrap();
            let found: Vec<_> =
                due.iter().map(|due| (due.row.reference.as_str(), due.owner.as_deref())).collect();
            assert_eq!(found, [("main", owner)]);
        }
    })
    .await;
}

#[tokio::test]
async fn p20_due_refs_of_a_user_with_many_of_them_hide_none_of_others() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut tx = store.write().await.unwrap();
        for n in 1..=20_u128 {
            let reference = format!("v{n:02}");
            let mut old = follower_of(n, &format!("eve-{n}"), "eve", &reference);
            old.updated_at = at(i64::try_from(n).unwrap());
            workload::insert(&mut tx, &old).await.unwrap();
        }
        // Later than all of them.
        for (n, owner, millis) in [(31, "ana", 600), (32, "ana", 500), (33, "ben", 700)] {
            let mut new = follower_of(n, &format!("{owner}-{n}"), owner, &format!("{owner}-{n}"));
            new.updated_at = at(millis);
            workload::insert(&mut tx, &new).await.unwrap();
        }
        let list = async |tx: &mut crate::Tx, now: i64, limit: u32| {
            let due = git::list_due_refs(tx, at(now), limit).await.unwrap();
            due.into_iter().map(|due| due.row.reference).collect::<Vec<_>>()
        };
        assert_eq!(list(&mut tx, 1_000, 6).await, ["v01", "ana-32", "ben-33", "v02", "ana-31", "v03"]);
        assert_eq!(list(&mut tx, 1_000, 100).await.len(), 23);
        assert_eq!(list(&mut tx, 500, 3).await, ["v01", "ana-32", "v02"], "those that are due");
    })
    .await;
}
