//! Subscriptions for publishes, and the messages about their end.

use domain::notification::{DeliveryState, PublishMessage, PublishOutcome, SubscriptionScope};
use domain::operation::{Operation, OperationCounts, OperationKind};
use domain::{DeliveryId, OperationId, SubscriptionId, Timestamp};

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, project_id, workload_id};
use super::incidents::insert_channel;
use crate::publish_message::{self, PublishWatch};
use crate::subscription::{self, SubscriptionRow};
use crate::{Store, channel, operation};

fn operation_id() -> OperationId {
    OperationId::from_parts(1, 1)
}

fn message_id() -> DeliveryId {
    DeliveryId::from_parts(1, 1)
}

/// A fleet with a channel, an operation, and its watch.
async fn insert_watch(store: &Store) -> PublishWatch {
    insert_fleet(store, 1, 1).await;
    insert_channel(store, "ops").await;
    let published = Operation {
        id: operation_id(),
        workload: "w-001".to_owned(),
        kind: OperationKind::Publish,
        revision: Some(2),
        restored_revision: None,
        actor: "ana".to_owned(),
        started_at: at(10),
        closed_at: None,
        counts: OperationCounts::default(),
    };
    let watch = PublishWatch {
        id: message_id(),
        project: project_id(),
        channel: "ops".to_owned(),
        operation: operation_id(),
        workload: workload_id(1),
        workload_name: "w-001".to_owned(),
        revision: 2,
        publisher: "ana".to_owned(),
        created_at: at(10),
        outcome: None,
        outcome_since: None,
    };
    let mut tx = store.write().await.unwrap();
    operation::insert(&mut tx, workload_id(1), &published).await.unwrap();
    publish_message::insert(&mut tx, &watch).await.unwrap();
    tx.commit().await.unwrap();
    watch
}

async fn list_due(store: &Store, now: Timestamp) -> Vec<PublishWatch> {
    let mut tx = store.read().await.unwrap();
    publish_message::list_due_watches(&mut tx, project_id(), now, 10).await.unwrap()
}

#[tokio::test]
async fn a_watched_publish_is_evaluated_until_it_ends_and_is_then_sent_once() {
    for_each_engine(|store| async move {
        let watch = insert_watch(&store).await;
        assert_eq!(list_due(&store, at(9)).await, []);
        assert_eq!(list_due(&store, at(10)).await, std::slice::from_ref(&watch));
        let mut tx = store.write().await.unwrap();
        let failed = Some((PublishOutcome::Failed, at(10)));
        publish_message::postpone(&mut tx, message_id(), failed, at(15)).await.unwrap();
        assert_eq!(publish_message::lock_due_watch(&mut tx, message_id(), at(14)).await.unwrap(), None);
        let again = publish_message::lock_due_watch(&mut tx, message_id(), at(15)).await.unwrap().unwrap();
        assert_eq!((again.outcome, again.outcome_since), (Some(PublishOutcome::Failed), Some(at(10))));
        assert!(publish_message::list(&mut tx, operation_id()).await.unwrap().is_empty(), "it has not ended");
        let message = PublishMessage {
            outcome: PublishOutcome::Failed,
            operation: operation_id(),
            workload: watch.workload_name,
            revision: 2,
            publisher: watch.publisher,
            clusters: 1,
            operational: 0,
            affected: vec!["c-001".to_owned()],
            affected_count: 1,
            cause: "cannot pull image".to_owned(),
            started_at: at(10),
            at: at(70),
        };
        publish_message::end_watch(&mut tx, message_id(), &message, Some(at(100))).await.unwrap();
        assert!(!publish_message::has_due(&mut tx, at(99)).await.unwrap(), "quiet hours hold it back");
        assert!(publish_message::has_due(&mut tx, at(100)).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(list_due(&store, at(1_000)).await, []);

        let mut tx = store.write().await.unwrap();
        let claimed = publish_message::claim(&mut tx, project_id(), 10, at(100), at(160)).await.unwrap();
        assert_eq!((claimed.len(), &claimed[0].message, claimed[0].attempts), (1, &message, 1));
        let claim = (claimed[0].id, claimed[0].epoch);
        assert!(publish_message::record_failure(&mut tx, claim, "status 503", at(200)).await.unwrap());
        let failed = publish_message::list(&mut tx, operation_id()).await.unwrap();
        assert_eq!(
            (failed[0].state, failed[0].last_error.as_deref()),
            (DeliveryState::Pending, Some("status 503"))
        );
        let claimed = publish_message::claim(&mut tx, project_id(), 10, at(200), at(260)).await.unwrap();
        let claim = (claimed[0].id, claimed[0].epoch);
        let note = Some("Line 1 of the template failed.".to_owned());
        assert!(publish_message::record_success(&mut tx, claim, note.clone(), at(201)).await.unwrap());
        assert!(!publish_message::record_success(&mut tx, claim, None, at(202)).await.unwrap(), "only once");
        assert!(!publish_message::has_due(&mut tx, at(9_999)).await.unwrap());
        let sent = publish_message::list(&mut tx, operation_id()).await.unwrap();
        assert_eq!((sent[0].state, sent[0].delivered_at), (DeliveryState::Delivered, Some(at(201))));
        assert_eq!(sent[0].note, note);
        assert!(channel::delete(&mut tx, project_id(), "ops").await.unwrap());
        assert!(publish_message::list(&mut tx, operation_id()).await.unwrap().is_empty());
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn p22_a_subscription_for_publishes_selects_nothing_for_a_server_of_the_release_before() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        insert_channel(&store, "ops").await;
        let row = |n, scope, quiet_hours: &str| SubscriptionRow {
            id: SubscriptionId::from_parts(1, n),
            project: project_id(),
            channel: "ops".to_owned(),
            scope,
            quiet_hours: quiet_hours.parse().ok(),
            created_by: "ana".to_owned(),
            created_at: at(0),
        };
        let of_publishes =
            row(1, SubscriptionScope::Publisher("ana".to_owned()), "22:00-06:00 Europe/Berlin");
        let of_incidents = row(2, SubscriptionScope::Workload("web".to_owned()), "");
        let mut tx = store.write().await.unwrap();
        for row in [&of_publishes, &of_incidents] {
            subscription::insert(&mut tx, row).await.unwrap();
        }
        let listed = subscription::list(&mut tx, project_id()).await.unwrap();
        assert_eq!(listed, [of_publishes.clone(), of_incidents]);
        for (publisher, channels) in [("ana", &["ops"][..]), ("web", &[][..]), ("", &[][..])] {
            let found = subscription::list_channels_of_publisher(&mut tx, project_id(), publisher).await;
            assert_eq!(found.unwrap(), channels, "{publisher}");
        }
        subscription::set_quiet_hours(&mut tx, of_publishes.id, None).await.unwrap();
        assert_eq!(subscription::list(&mut tx, project_id()).await.unwrap()[0].quiet_hours, None);
        // What that server reads of it.
        let stored = crate::sql::sql("SELECT COUNT(*) FROM subscription WHERE scope = $1")
            .bind_text(r#"{"workload":""}"#)
            .fetch_number(&mut tx)
            .await
            .unwrap();
        assert_eq!(stored, 1);
        tx.commit().await.unwrap();
    })
    .await;
}
