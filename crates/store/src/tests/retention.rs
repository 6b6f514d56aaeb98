//! Expired rows are deleted in batches, and nothing that is in use.

use domain::health::Health;
use domain::release::{Release, RenderOutcome};
use domain::role::Role;
use domain::rollout::{Rollout, RolloutStrategy, Wave};
use domain::workload::{Policies, Revision, WorkloadSpec};
use domain::{Digest, TokenId, UserId};

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, release_report, some_release, workload_id};
use crate::retention::{REVISIONS_KEPT, RetainedTable, count_rows, delete_batch};
use crate::token::ApiTokenRecord;
use crate::user::UserRow;
use crate::{Store, Tx, artifact, event, release, revision, rollout, token, user, workload};

async fn insert_revisions(tx: &mut Tx, count: u32) {
    for number in 1..=count {
        let row = Revision {
            workload: workload_id(1),
            number,
            spec: WorkloadSpec::default(),
            author: "ana".to_owned(),
            message: String::new(),
            created_at: at(i64::from(number)),
            helm_versions: Vec::new(),
        };
        revision::insert(tx, &row).await.unwrap();
    }
}

async fn list_numbers(tx: &mut Tx, up_to: u32) -> Vec<u32> {
    let mut numbers = Vec::new();
    for number in 1..=up_to {
        if revision::get(tx, workload_id(1), number).await.unwrap().is_some() {
            numbers.push(number);
        }
    }
    numbers
}

fn release_of(revision: u32) -> Release {
    let mut release = some_release(1, 1, 1);
    let outcome = RenderOutcome::Bundle(Digest::compute(b"bundle"));
    release.set_desired_revision(revision, outcome, Policies::default(), at(1));
    release
}

/// A release of a cluster that runs this revision, and was sent the next one.
fn release_behind(revision: u32) -> Release {
    let mut release = some_release(2, 1, 2);
    let bundle = |number: u32| RenderOutcome::Bundle(Digest::compute(&number.to_be_bytes()));
    release.set_desired_revision(revision, bundle(revision), Policies::default(), at(1));
    release.apply_report(&release_report(&release, Health::healthy()), at(2)).unwrap();
    release.set_desired_revision(revision + 1, bundle(revision + 1), Policies::default(), at(3));
    assert_eq!(release.applied_revision(), Some(revision));
    release
}

async fn insert_rollout(store: &Store, revision: u32) {
    let mut tx = store.write().await.unwrap();
    let wave = Wave { name: "one".to_owned(), ..Wave::default() };
    let strategy = RolloutStrategy { waves: vec![wave], ..RolloutStrategy::default() };
    let mut active = Rollout::new(workload_id(1), (None, revision), strategy, at(0));
    rollout::insert(&mut tx, &active).await.unwrap();
    if revision == 5 {
        active.supersede(at(1));
        rollout::update(&mut tx, &active).await.unwrap();
    }
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn old_revisions_expire_except_the_newest_and_those_in_use() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 1).await;
        let last = REVISIONS_KEPT + 20;
        let mut tx = store.write().await.unwrap();
        insert_revisions(&mut tx, last).await;
        let mut published = workload::get_by_id(&mut tx, workload_id(1)).await.unwrap().unwrap();
        let resource_version = published.revision;
        published.published = Some(3);
        published.revision += 1;
        assert!(workload::update(&mut tx, &published, resource_version, "ana").await.unwrap());
        release::insert(&mut tx, &release_of(4)).await.unwrap();
        release::insert(&mut tx, &release_behind(7)).await.unwrap();
        tx.commit().await.unwrap();
        insert_rollout(&store, 5).await;
        insert_rollout(&store, 6).await;

        let mut tx = store.write().await.unwrap();
        let age = at(i64::from(last) + 1);
        assert_eq!(
            delete_batch(&mut tx, RetainedTable::Revision, at(2), 10).await.unwrap(),
            1,
            "by their age"
        );
        assert_eq!(delete_batch(&mut tx, RetainedTable::Revision, age, 10).await.unwrap(), 10, "one batch");
        assert_eq!(delete_batch(&mut tx, RetainedTable::Revision, age, 10).await.unwrap(), 4);
        assert_eq!(delete_batch(&mut tx, RetainedTable::Revision, age, 10).await.unwrap(), 0);
        let mut retained = vec![3, 4, 6, 7, 8];
        retained.extend(21..=last);
        assert_eq!(list_numbers(&mut tx, last).await, retained);
        assert_eq!(
            rollout::get(&mut tx, workload_id(1), 5).await.unwrap(),
            None,
            "expires with its revision"
        );
        assert!(rollout::get(&mut tx, workload_id(1), 6).await.unwrap().is_some());
        assert_eq!(revision::latest_number(&mut tx, workload_id(1)).await.unwrap(), last);
    })
    .await;
}

#[tokio::test]
async fn what_a_rollback_returns_to_is_retained() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 2, 1).await;
        let mut tx = store.write().await.unwrap();
        insert_revisions(&mut tx, REVISIONS_KEPT + 3).await;
        let mut release = release_behind(1);
        release.apply_report(&release_report(&release, Health::healthy()), at(4)).unwrap();
        assert_eq!(
            (release.applied_revision(), release.rollback().map(|one| one.revision)),
            (Some(2), Some(1))
        );
        release::insert(&mut tx, &release).await.unwrap();
        let stored = release::get_many(&mut tx, &[release.id()]).await.unwrap();
        assert_eq!(stored, [release]);
        let bundles: Vec<[u8; 4]> = (1..=3_u32).map(u32::to_be_bytes).collect();
        for bytes in &bundles {
            artifact::put(&mut tx, &Digest::compute(bytes), bytes, at(0)).await.unwrap();
        }
        assert_eq!(delete_batch(&mut tx, RetainedTable::Artifact, at(100), 10).await.unwrap(), 1);
        assert!(artifact::exists(&mut tx, &Digest::compute(&bundles[0])).await.unwrap());
        let age = at(i64::from(REVISIONS_KEPT) + 10);
        assert_eq!(delete_batch(&mut tx, RetainedTable::Revision, age, 10).await.unwrap(), 1);
        assert_eq!(list_numbers(&mut tx, 3).await, [1, 2]);
    })
    .await;
}

#[tokio::test]
async fn an_api_token_without_an_end_never_expires() {
    for_each_engine(|store| async move {
        let mut tx = store.write().await.unwrap();
        let ana = UserRow {
            id: UserId::from_parts(5, 1),
            name: "ana".to_owned(),
            password_hash: "$argon2id$secret".to_owned(),
            created_at: at(1),
            session_epoch: 0,
            disabled_at: None,
            last_sign_in_at: None,
        };
        user::insert(&mut tx, &ana).await.unwrap();
        for (n, expires_at) in [(1, None), (2, Some(at(10))), (3, Some(at(30)))] {
            let record = ApiTokenRecord {
                id: TokenId::from_parts(6, n),
                user: ana.id,
                name: format!("token {n}"),
                secret_sha256: format!("hash {n}"),
                created_at: at(1),
                expires_at,
                used_at: None,
                role: Role::Viewer,
                project: None,
                can_mint: false,
                actions: None,
            };
            token::insert(&mut tx, &record).await.unwrap();
        }
        assert_eq!(delete_batch(&mut tx, RetainedTable::ApiToken, at(20), 10).await.unwrap(), 1);
        let left: Vec<TokenId> =
            token::list(&mut tx, ana.id).await.unwrap().into_iter().map(|record| record.id).collect();
        assert_eq!(left.len(), 2);
        assert!(!left.contains(&TokenId::from_parts(6, 2)));
    })
    .await;
}

#[tokio::test]
async fn a_batch_deletes_at_most_its_limit_and_rows_are_counted() {
    for_each_engine(|store| async move {
        let events: Vec<_> = (0..25)
            .map(|n| {
                domain::event::NewEvent::new(domain::event::EventKind::WorkloadEdited, "ana", n.to_string())
            })
            .collect();
        let mut tx = store.write().await.unwrap();
        event::append(&mut tx, &events, at(1)).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.write().await.unwrap();
        let mut deleted = Vec::new();
        for _ in 0..4 {
            deleted.push(delete_batch(&mut tx, RetainedTable::Event, at(2), 10).await.unwrap());
        }
        assert_eq!(deleted, [10, 10, 5, 0]);
        for table in RetainedTable::ALL {
            count_rows(&mut tx, table).await.unwrap();
            assert_eq!(delete_batch(&mut tx, table, at(i64::MAX / 2), 10).await.unwrap(), 0, "{table:?}");
        }
    })
    .await;
}
