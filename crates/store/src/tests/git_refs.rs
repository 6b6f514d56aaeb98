//! Refs of Git repositories that drafts follow.

use domain::remote::RemoteSource;
use domain::workload::{Source, Workload};

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, some_workload};
use crate::{git, workload};

/// A workload whose draft follows one ref, the same for all.
fn follower(n: u128, name: &str, created_by: &str) -> Workload {
    let source = RemoteSource {
        repository: "https://git.example.com/deploy.git".to_owned(),
        reference: "main".to_owned(),
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
