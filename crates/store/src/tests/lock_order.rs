//! Two transactions that lock the same rows, each paused between two of them: they lock them in one order (docs/consistency.md), so that
//! neither is cancelled as a deadlock. On SQLite the second one waits for the first.

use std::time::Duration;

use domain::DeliveryId;
use domain::health::{Health, HealthStatus};
use domain::notification::{IncidentMessage, MessageKind};
use domain::project::{Project, PublishApproval};
use tokio::task::JoinHandle;

use super::databases::for_each_engine;
use super::fixtures::{
    at, cluster_id, insert_fleet, insert_full_fleet, project_id, release_id, release_report, workload_id,
};
use super::incidents::{insert_channel, insert_message, some_incident};
use crate::delivery::NewDelivery;
use crate::queue::{INCIDENTS, PLACER};
use crate::{Error, Tx, certificate, channel, cluster, delivery, incident, project, registration, release};

/// Time in which a transaction that locks its rows in another order would lock the first of them.
const PAUSE: Duration = Duration::from_millis(200);

/// Executes the second transaction in a task, and waits until it waits for the first one.
async fn begin_second<F>(second: F) -> JoinHandle<Result<(), Error>>
where
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let task = tokio::spawn(second);
    tokio::time::sleep(PAUSE).await;
    task
}

#[tokio::test]
async fn p35_claims_that_are_released_are_locked_in_the_order_of_their_workloads() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 2).await;
        let mut tx = store.write().await.unwrap();
        PLACER.mark(&mut tx, &[workload_id(2)], at(1)).await.unwrap();
        PLACER.mark(&mut tx, &[workload_id(1)], at(2)).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.write().await.unwrap();
        let claims = PLACER.claim(&mut tx, 10, at(10), at(1_000)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(claims[0].0, workload_id(2), "a claim is in the order of time");

        let mut marks = store.write().await.unwrap();
        PLACER.mark(&mut marks, &[workload_id(1)], at(20)).await.unwrap();
        marks.write_marks().await.unwrap();
        let other = store.clone();
        let released = begin_second(async move {
            let mut tx = other.write().await?;
            PLACER.release_claims(&mut tx, &claims, at(20)).await?;
            tx.commit().await.map(drop)
        })
        .await;
        PLACER.mark(&mut marks, &[workload_id(2)], at(20)).await.unwrap();
        marks.commit().await.unwrap();
        released.await.unwrap().unwrap();
        assert_eq!(store.statistics().deadlocks, 0);
    })
    .await;
}

#[tokio::test]
async fn p35_the_approval_that_a_project_requires_is_not_changed_during_a_publish() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut publish = store.write().await.unwrap();
        project::share(&mut publish, project_id()).await.unwrap();
        let other = store.clone();
        let change = begin_second(async move {
            let mut tx = other.write().await?;
            let old = project::lock(&mut tx, project_id()).await?;
            let new = Project { publish_approval: PublishApproval::Anyone, ..old };
            project::update(&mut tx, project_id(), &new).await?;
            tx.commit().await.map(drop)
        })
        .await;
        assert!(!change.is_finished(), "it waits for the publish");
        let required = project::get_publish_approval(&mut publish, project_id()).await.unwrap();
        assert_eq!(required, PublishApproval::None);
        publish.commit().await.unwrap();
        change.await.unwrap().unwrap();
        let mut tx = store.write().await.unwrap();
        let required = project::get_publish_approval(&mut tx, project_id()).await.unwrap();
        assert_eq!(required, PublishApproval::Anyone);
    })
    .await;
}

/// Stores that this release fails; returns whether it exists.
async fn fail_release(tx: &mut Tx, id: u128) -> Result<bool, Error> {
    let mut one = release::get(tx, release_id(id)).await?.unwrap();
    let health = Health::new(HealthStatus::Degraded, "CrashLoop", "exits with 1");
    one.apply_report(&release_report(&one, health), at(5)).unwrap();
    release::update(tx, &one).await
}

#[tokio::test]
async fn p35_the_first_failure_of_a_workload_is_noted_after_the_placer_is_marked() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 2, 1).await;
        let id = workload_id(1);
        let mut tx = store.write().await.unwrap();
        PLACER.mark(&mut tx, &[id], at(1)).await.unwrap();
        tx.commit().await.unwrap();
        let mut tx = store.write().await.unwrap();
        let claims = PLACER.claim(&mut tx, 10, at(2), at(1_000)).await.unwrap();
        tx.commit().await.unwrap();

        // A pass of the placer, which has settled its claim but not committed.
        let mut pass = store.write().await.unwrap();
        fail_release(&mut pass, 1_001).await.unwrap();
        PLACER.settle(&mut pass, id, claims[0].1).await.unwrap();
        let other = store.clone();
        let report = begin_second(async move {
            let mut tx = other.write().await?;
            fail_release(&mut tx, 1_002).await?;
            PLACER.mark(&mut tx, &[id], at(6)).await?;
            tx.commit().await.map(drop)
        })
        .await;
        pass.commit().await.unwrap();
        report.await.unwrap().unwrap();
        assert_eq!(store.statistics().deadlocks, 0);
        let mut tx = store.read().await.unwrap();
        assert!(INCIDENTS.has_due(&mut tx, at(6)).await.unwrap());
        assert!(PLACER.has_due(&mut tx, at(6)).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn p35_a_deletion_of_a_channel_waits_for_the_messages_that_are_written_for_it() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 1).await;
        insert_channel(&store, "ops").await;
        let mut tx = store.write().await.unwrap();
        incident::insert(&mut tx, project_id(), &some_incident(1, "CrashLoop")).await.unwrap();
        tx.commit().await.unwrap();
        insert_message(&store, 1, MessageKind::Updated, "ops").await;

        let incident = some_incident(1, "CrashLoop");
        let mut write = store.write().await.unwrap();
        assert!(channel::share(&mut write, project_id(), "ops").await.unwrap());
        delivery::delete_unsent_updates(&mut write, incident.id, (project_id(), "ops")).await.unwrap();
        let other = store.clone();
        let deletion = begin_second(async move {
            let mut tx = other.write().await?;
            channel::delete(&mut tx, project_id(), "ops").await?;
            tx.commit().await.map(drop)
        })
        .await;
        let summary = incident.summary();
        let message =
            IncidentMessage { kind: MessageKind::Closed, incident: summary, owners: Vec::new(), at: at(10) };
        let new = NewDelivery {
            id: DeliveryId::from_parts(1, 2),
            project: project_id(),
            channel: "ops",
            position: 2,
            due_at: at(10),
            message: &message,
        };
        delivery::insert(&mut write, &new).await.unwrap();
        write.commit().await.unwrap();
        deletion.await.unwrap().unwrap();
        assert_eq!(store.statistics().deadlocks, 0);
        let mut tx = store.write().await.unwrap();
        assert!(!channel::share(&mut tx, project_id(), "ops").await.unwrap());
        assert!(delivery::list(&mut tx, incident.id).await.unwrap().is_empty());
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn p35_a_deletion_of_a_cluster_waits_for_the_revocation_of_its_certificates() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 0).await;
        let id = cluster_id(1);
        let mut tx = store.write().await.unwrap();
        certificate::record_acceptance(&mut tx, id, "ana", at(1)).await.unwrap();
        tx.commit().await.unwrap();

        let mut revocation = store.write().await.unwrap();
        registration::reject_by_cluster(&mut revocation, id).await.unwrap();
        cluster::get_report_position(&mut revocation, id).await.unwrap().unwrap();
        let other = store.clone();
        let deletion = begin_second(async move {
            let mut tx = other.write().await?;
            registration::lock_by_cluster(&mut tx, id).await?;
            cluster::get_report_position(&mut tx, id).await?;
            cluster::delete(&mut tx, id).await?;
            tx.commit().await.map(drop)
        })
        .await;
        certificate::revoke_by_cluster(&mut revocation, id, at(2)).await.unwrap();
        certificate::record_revocation(&mut revocation, id, at(2)).await.unwrap();
        revocation.commit().await.unwrap();
        deletion.await.unwrap().unwrap();
        assert_eq!(store.statistics().deadlocks, 0);
    })
    .await;
}
