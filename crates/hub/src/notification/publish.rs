//! Messages about the end of a user's own publishes: watched from the publish on, and sent once through the outbox.

use std::collections::HashMap;

use domain::notification::{PublishEnd, PublishMessage, PublishOutcome, SubscriptionScope, evaluate_publish};
use domain::operation::Operation;
use domain::release::Release;
use domain::workload::Intent;
use domain::{ClusterId, DeliveryId, Timestamp, WorkloadId};
use store::Tx;
use store::publish_message::PublishWatch;

use super::outbox::quiet_end;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Publishes evaluated in one pass.
const BATCH: u32 = 16;
/// Pause between two evaluations of a publish, in milliseconds, and what each of its releases adds: they are all read.
const PAUSE_MILLIS: i64 = 5_000;
const PAUSE_MILLIS_PER_RELEASE: i64 = 10;
/// When a publish is evaluated again whose releases can't be read, in milliseconds.
const FAILURE_PAUSE_MILLIS: i64 = 60_000;

/// A publish, evaluated.
struct EvaluatedPublish {
    end: Option<PublishEnd>,
    /// Number of its releases.
    releases: usize,
}

impl Hub {
    /// Watches a publish in its transaction, for each channel to which its user asked to be sent the end of publishes.
    pub(crate) async fn watch_publish(
        &self,
        tx: &mut Tx,
        workload: WorkloadId,
        operation: &Operation,
    ) -> Result<(), Error> {
        let Some(revision) = operation.revision else { return Ok(()) };
        let project = self.project();
        let publisher = &operation.actor;
        for channel in store::subscription::list_channels_of_publisher(tx, project, publisher).await? {
            if !store::channel::share(tx, project, &channel).await? {
                continue;
            }
            let watch = PublishWatch {
                id: self.ids().generate(DeliveryId::from_parts),
                project,
                channel,
                operation: operation.id,
                workload,
                workload_name: operation.workload.clone(),
                revision,
                publisher: operation.actor.clone(),
                created_at: operation.started_at,
                outcome: None,
                outcome_since: None,
            };
            store::publish_message::insert(tx, &watch).await?;
        }
        Ok(())
    }

    /// Evaluates the watched publishes that are due, and writes the message about those that ended. One whose releases can't be read is
    /// evaluated again later, and stops no other.
    ///
    /// # Errors
    /// The database can't be reached.
    pub(super) async fn end_due_publishes(&self) -> Result<(), Error> {
        let now = self.clock().now();
        let mut tx = self.read().await?;
        let due = store::publish_message::list_due_watches(&mut tx, self.project(), now, BATCH).await?;
        drop(tx);
        for watch in due {
            let ended = async {
                let evaluated = self.evaluate_watch(&watch, now).await?;
                self.record_evaluation(watch.id, evaluated, now).await
            };
            let Err(error) = ended.await else { continue };
            if error.workload_failure().is_none() {
                return Err(error);
            }
            tracing::warn!(workload = %watch.workload, error = &error as &dyn std::error::Error, "a publish could not be evaluated; it will be retried");
            let mut tx = self.write().await?;
            let check_at = now.plus_millis(FAILURE_PAUSE_MILLIS);
            store::publish_message::postpone(&mut tx, watch.id, None, check_at).await?;
            self.commit(tx, CommitEffects::default()).await?;
        }
        Ok(())
    }

    /// How a watched publish ended, read without locks.
    async fn evaluate_watch(&self, watch: &PublishWatch, now: Timestamp) -> Result<EvaluatedPublish, Error> {
        let mut tx = self.read().await?;
        let workload = store::workload::get_head_by_id(&mut tx, watch.workload).await?;
        let is_current = workload
            .is_some_and(|head| head.intent == Intent::Published && head.published == Some(watch.revision));
        if !is_current {
            let end = PublishEnd {
                outcome: PublishOutcome::Superseded,
                clusters: 0,
                operational: 0,
                affected: Vec::new(),
                affected_count: 0,
                cause: "Another publish, an unpublish or a deletion replaced it.".to_owned(),
            };
            return Ok(EvaluatedPublish { end: Some(end), releases: 0 });
        }
        if store::decision::get_placed_revision(&mut tx, watch.workload).await? != watch.revision {
            return Ok(EvaluatedPublish { end: None, releases: 0 });
        }
        let names = store::operation::list_cluster_names(&mut tx, watch.workload).await?;
        let mut names: HashMap<ClusterId, String> = names.into_iter().collect();
        let releases = store::release::read_all_by_workload(&mut tx, watch.workload).await?;
        let rollout = store::rollout::get(&mut tx, watch.workload, watch.revision).await?;
        let named: Vec<(String, Release)> = releases
            .into_iter()
            .map(|release| (names.remove(&release.cluster()).unwrap_or_default(), release))
            .collect();
        let end = evaluate_publish(watch.revision, &named, rollout.as_ref(), now);
        Ok(EvaluatedPublish { end, releases: named.len() })
    }

    /// Writes the message about a publish that ended, once an outcome that a retry may end has lasted as long as a failure has to for an
    /// incident; otherwise when it is evaluated next.
    async fn record_evaluation(
        &self,
        id: DeliveryId,
        evaluated: EvaluatedPublish,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut tx = self.write().await?;
        let Some(watch) = store::publish_message::lock_due_watch(&mut tx, id, now).await? else {
            return Ok(());
        };
        let releases = i64::try_from(evaluated.releases).unwrap_or(i64::MAX);
        let pause = PAUSE_MILLIS.saturating_add(PAUSE_MILLIS_PER_RELEASE.saturating_mul(releases));
        let check_at = now.plus_millis(pause);
        let Some(end) = evaluated.end else {
            store::publish_message::postpone(&mut tx, id, None, check_at).await?;
            return self.commit(tx, CommitEffects::default()).await;
        };
        let since = watch.outcome_since.filter(|_| watch.outcome == Some(end.outcome)).unwrap_or(now);
        let lasts_until = since.plus_millis(self.incident_delay_millis());
        if end.outcome.may_pass() && lasts_until > now {
            let outcome = Some((end.outcome, since));
            store::publish_message::postpone(&mut tx, id, outcome, check_at.min(lasts_until)).await?;
            return self.commit(tx, CommitEffects::default()).await;
        }
        let scope = SubscriptionScope::Publisher(watch.publisher.clone());
        let subscriptions = store::subscription::list(&mut tx, watch.project).await?;
        let wanted = subscriptions.iter().find(|row| row.channel == watch.channel && row.scope == scope);
        let Some(subscription) = wanted else {
            // It was deleted since the publish.
            store::publish_message::delete_watch(&mut tx, id).await?;
            return self.commit(tx, CommitEffects::default()).await;
        };
        let quiet_until = quiet_end(subscription, now);
        store::publish_message::end_watch(&mut tx, id, &write_message(watch, end, now), quiet_until).await?;
        self.commit(tx, CommitEffects { wake_deliveries: true, ..CommitEffects::default() }).await
    }
}

fn write_message(watch: PublishWatch, end: PublishEnd, at: Timestamp) -> PublishMessage {
    PublishMessage {
        outcome: end.outcome,
        operation: watch.operation,
        workload: watch.workload_name,
        revision: watch.revision,
        publisher: watch.publisher,
        clusters: end.clusters,
        operational: end.operational,
        affected: end.affected,
        affected_count: end.affected_count,
        cause: end.cause,
        started_at: watch.created_at,
        at,
    }
}
