//! Incidents, their queue, and the outbox.

use domain::health::{Health, HealthStatus};
use domain::incident::{Incident, IncidentCause, IncidentCluster, IncidentQuery, IncidentState};
use domain::notification::{ChannelKind, DeliveryState, EmailSettings, IncidentMessage, MessageKind};
use domain::{DeliveryId, IncidentId, Timestamp};

use super::databases::for_each_engine;
use super::fixtures::{
    at, cluster_id, insert_fleet, insert_full_fleet, project_id, release_id, release_report, workload_id,
};
use crate::channel::{self, ChannelRow};
use crate::delivery::{self, ClaimedMessage, NewDelivery};
use crate::queue::INCIDENTS;
use crate::{Error, Store, incident, release};

pub(super) fn some_incident(n: u128, reason: &str) -> Incident {
    let cluster =
        IncidentCluster { id: cluster_id(1), name: "c-001".to_owned(), since: at(1), recovered_at: None };
    Incident {
        id: IncidentId::from_parts(1, n),
        workload: workload_id(1),
        workload_name: "w-001".to_owned(),
        cause: IncidentCause { reason: reason.to_owned(), ..IncidentCause::default() },
        clusters: vec![cluster],
        preceding_change: None,
        opened_at: at(2),
        changed_at: at(2),
        closed_at: None,
        acknowledged_by: None,
        acknowledged_at: None,
    }
}

pub(super) async fn insert_channel(store: &Store, name: &str) {
    let row = ChannelRow {
        project: project_id(),
        name: name.to_owned(),
        kind: ChannelKind::Webhook,
        target: "https://a.test/".to_owned(),
        secret: Some("s3cret".to_owned()),
        email: Some(EmailSettings { host: "mail.test".to_owned(), ..EmailSettings::default() }),
        template: Some("{{ title }}".to_owned()),
        created_by: "ana".to_owned(),
        created_at: at(0),
        failures: 0,
        last_error: None,
        retry_at: None,
        delivered_at: None,
    };
    let mut tx = store.write().await.unwrap();
    channel::insert(&mut tx, &row).await.unwrap();
    assert!(channel::get(&mut tx, project_id(), name).await.unwrap() == Some(row), "it reads back");
    tx.commit().await.unwrap();
}

pub(super) async fn insert_message(store: &Store, n: u128, kind: MessageKind, channel: &str) {
    let summary = some_incident(1, "CrashLoop").summary();
    let message = IncidentMessage { kind, incident: summary, owners: Vec::new(), at: at(10) };
    let mut tx = store.write().await.unwrap();
    let position = delivery::next_position(&mut tx, message.incident.id).await.unwrap();
    let id = DeliveryId::from_parts(1, n);
    let (project, due_at) = (project_id(), at(10));
    let new = NewDelivery { id, project, channel, position, due_at, quiet_until: None, message: &message };
    delivery::insert(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
}

async fn claim(store: &Store, now: Timestamp) -> Vec<ClaimedMessage> {
    let mut tx = store.write().await.unwrap();
    let claimed = delivery::claim(&mut tx, project_id(), 10, now, now.plus_millis(60)).await.unwrap();
    tx.commit().await.unwrap();
    claimed
}

#[tokio::test]
async fn e12_one_incident_of_a_workload_and_cause_is_open() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 1).await;
        let mut tx = store.write().await.unwrap();
        let mut first = some_incident(1, "CrashLoop");
        incident::insert(&mut tx, project_id(), &first).await.unwrap();
        incident::insert(&mut tx, project_id(), &some_incident(2, "OOMKilled")).await.unwrap();
        assert_eq!(incident::list_open(&mut tx, workload_id(1)).await.unwrap().len(), 2);
        tx.commit().await.unwrap();
        let mut tx = store.write().await.unwrap();
        let again = incident::insert(&mut tx, project_id(), &some_incident(3, "CrashLoop")).await;
        assert!(matches!(again, Err(Error::AlreadyExists { .. })), "{again:?}");
        tx.rollback().await.unwrap();
        let mut tx = store.write().await.unwrap();
        first.closed_at = Some(at(9));
        incident::update(&mut tx, project_id(), &first).await.unwrap();
        incident::insert(&mut tx, project_id(), &some_incident(3, "CrashLoop")).await.unwrap();
        assert_eq!(incident::get(&mut tx, project_id(), first.id).await.unwrap(), Some(first));
        let query =
            IncidentQuery { state: Some(IncidentState::Open), limit: Some(1), ..IncidentQuery::default() };
        let page = incident::list(&mut tx, project_id(), &query).await.unwrap();
        assert_eq!((page.total, page.items[0].id), (2, IncidentId::from_parts(1, 3)), "newest first");
        let query = IncidentQuery { cursor: page.next, ..query };
        let page = incident::list(&mut tx, project_id(), &query).await.unwrap();
        assert_eq!((page.items[0].id, page.next), (IncidentId::from_parts(1, 2), None));
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn p27_messages_are_claimed_once_and_in_the_order_of_their_incident() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 1).await;
        insert_channel(&store, "ops").await;
        let mut tx = store.write().await.unwrap();
        incident::insert(&mut tx, project_id(), &some_incident(1, "CrashLoop")).await.unwrap();
        tx.commit().await.unwrap();
        // The ids are in another order than the messages.
        insert_message(&store, 9, MessageKind::Opened, "ops").await;
        insert_message(&store, 3, MessageKind::Closed, "ops").await;
        let opened = claim(&store, at(10)).await;
        assert_eq!(opened.len(), 1);
        assert_eq!((opened[0].message.kind, opened[0].attempts), (MessageKind::Opened, 1));
        assert!(claim(&store, at(11)).await.is_empty(), "it is being sent");

        // The lease ends: another server claims it, and the first one has lost its claim.
        let again = claim(&store, at(80)).await;
        assert_eq!((again[0].id, again[0].attempts), (opened[0].id, 2));
        let mut tx = store.write().await.unwrap();
        assert!(
            !delivery::record_failure(&mut tx, (opened[0].id, opened[0].epoch), "late", at(500))
                .await
                .unwrap()
        );
        assert!(
            delivery::record_success(&mut tx, (again[0].id, again[0].epoch), None, at(81)).await.unwrap()
        );
        tx.commit().await.unwrap();
        let closed = claim(&store, at(82)).await;
        assert_eq!(closed[0].message.kind, MessageKind::Closed);
        let mut tx = store.write().await.unwrap();
        let states: Vec<DeliveryState> =
            delivery::list(&mut tx, closed[0].incident).await.unwrap().iter().map(|one| one.state).collect();
        assert_eq!(states, [DeliveryState::Delivered, DeliveryState::Pending]);
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn p27_a_channel_that_fails_pauses_and_then_one_message_tries_it() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 1, 1).await;
        insert_channel(&store, "ops").await;
        let mut tx = store.write().await.unwrap();
        for n in 1..=2 {
            incident::insert(&mut tx, project_id(), &some_incident(n, &format!("Reason{n}"))).await.unwrap();
        }
        tx.commit().await.unwrap();
        insert_message(&store, 1, MessageKind::Opened, "ops").await;
        let mut tx = store.write().await.unwrap();
        let other = some_incident(2, "Reason2").summary();
        let message =
            IncidentMessage { kind: MessageKind::Opened, incident: other, owners: Vec::new(), at: at(10) };
        let new = NewDelivery {
            id: DeliveryId::from_parts(1, 2),
            project: project_id(),
            channel: "ops",
            position: 1,
            due_at: at(10),
            quiet_until: None,
            message: &message,
        };
        delivery::insert(&mut tx, &new).await.unwrap();
        channel::record_failure(&mut tx, (project_id(), "ops"), 3, "status 503", at(100)).await.unwrap();
        tx.commit().await.unwrap();
        assert!(claim(&store, at(99)).await.is_empty());
        assert_eq!(claim(&store, at(100)).await.len(), 1);
        let mut tx = store.write().await.unwrap();
        channel::record_success(&mut tx, project_id(), "ops", at(101)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(claim(&store, at(101)).await.len(), 1, "the other one");
        let mut tx = store.write().await.unwrap();
        assert!(channel::delete(&mut tx, project_id(), "ops").await.unwrap());
        assert!(delivery::list(&mut tx, message.incident.id).await.unwrap().is_empty());
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_failing_release_marks_its_workload_and_another_change_only_while_it_is_tracked() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        let degraded = || Health::new(HealthStatus::Degraded, "CrashLoop", "exits with 1");
        let has_due = async |now: Timestamp| {
            let mut tx = store.read().await.unwrap();
            INCIDENTS.has_due(&mut tx, now).await.unwrap()
        };
        let write = async |health: Health, second: i64| {
            let mut tx = store.write().await.unwrap();
            let mut one = release::get(&mut tx, release_id(1_001)).await.unwrap().unwrap();
            one.apply_report(&release_report(&one, health), at(second)).unwrap();
            release::update(&mut tx, &one).await.unwrap();
            tx.commit().await.unwrap().has_incident_marks
        };
        let settle = async |now: Timestamp| {
            let mut tx = store.write().await.unwrap();
            for (id, epoch) in INCIDENTS.claim(&mut tx, 10, now, now.plus_millis(30_000)).await.unwrap() {
                assert!(INCIDENTS.settle(&mut tx, id, epoch).await.unwrap());
            }
            tx.commit().await.unwrap();
        };
        assert!(!write(Health::healthy(), 1).await);
        assert!(!has_due(at(1_000)).await);
        assert!(write(degraded(), 2).await);
        assert!(has_due(at(2)).await);
        settle(at(3)).await;
        assert!(!write(Health::healthy(), 4).await, "nothing of it is tracked");
        let mut tx = store.write().await.unwrap();
        incident::set_tracked(&mut tx, workload_id(1), true).await.unwrap();
        tx.commit().await.unwrap();
        write(degraded(), 5).await;
        settle(at(6)).await;
        assert!(write(Health::healthy(), 7).await);
        assert!(has_due(at(7)).await);
    })
    .await;
}

#[tokio::test]
async fn e12_a_full_pass_marks_what_fails_and_what_is_tracked_although_nothing_changed() {
    for_each_engine(|store| async move {
        insert_full_fleet(&store, 1, 1).await;
        let mark_all = async |now: Timestamp| {
            let mut tx = store.write().await.unwrap();
            INCIDENTS.mark_all(&mut tx, now).await.unwrap();
            tx.commit().await.unwrap();
            let mut tx = store.read().await.unwrap();
            INCIDENTS.has_due(&mut tx, now).await.unwrap()
        };
        let settle = async |now: Timestamp| {
            let mut tx = store.write().await.unwrap();
            for (id, epoch) in INCIDENTS.claim(&mut tx, 10, now, now.plus_millis(30_000)).await.unwrap() {
                assert!(INCIDENTS.settle(&mut tx, id, epoch).await.unwrap());
            }
            tx.commit().await.unwrap();
        };
        let report = async |health: Health, now: Timestamp, is_tracked: bool| {
            let mut tx = store.write().await.unwrap();
            let mut one = release::get(&mut tx, release_id(1_001)).await.unwrap().unwrap();
            one.apply_report(&release_report(&one, health), now).unwrap();
            release::update(&mut tx, &one).await.unwrap();
            incident::set_tracked(&mut tx, workload_id(1), is_tracked).await.unwrap();
            tx.commit().await.unwrap();
        };
        report(Health::healthy(), at(1), false).await;
        assert!(!mark_all(at(2)).await, "nothing fails, and nothing is tracked");
        report(Health::new(HealthStatus::Degraded, "CrashLoop", "exits with 1"), at(3), false).await;
        settle(at(4)).await;
        assert!(mark_all(at(5)).await, "it fails");
        settle(at(6)).await;
        report(Health::healthy(), at(7), true).await;
        settle(at(8)).await;
        assert!(mark_all(at(9)).await, "it is tracked");
    })
    .await;
}
