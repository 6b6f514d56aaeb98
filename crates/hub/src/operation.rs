//! Operations: the record of what people requested, with its outcome per cluster (S1-13).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::operation::{
    Operation, OperationCounts, OperationKind, OperationTarget, OperationView, ReleaseCluster,
};
use domain::page::{ListQuery, Page};
use domain::release::Release;
use domain::{ClusterId, OperationId, Timestamp, WorkloadId};
use store::Tx;
use store::operation::StoredOperation;
use tokio::time::Instant;

use crate::{Actor, Error, Hub};

/// Maximum interval between two reads of a wait: an event of another server may be noticed late.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Number of revisions that are searched for one that was healthy.
const HEALTHY_REVISION_SEARCH: u32 = 20;

/// An operation after a wait.
pub(crate) struct AwaitedOperation {
    /// Its outcome.
    pub view: OperationView,
    /// Whether its clusters are known; otherwise the outcome lacks those that were not placed yet.
    pub is_placed: bool,
}

/// What a verb requests for a workload.
pub(crate) struct OperationRequest<'a> {
    /// The workload.
    pub workload: WorkloadId,
    /// Its name.
    pub name: &'a str,
    /// What is requested.
    pub kind: OperationKind,
    /// The revision that is published.
    pub revision: Option<u32>,
    /// The earlier revision that it restores.
    pub restored_revision: Option<u32>,
    /// The time of the verb: what it changes has no earlier one, or its outcome would count as that of an operation before.
    pub started_at: Timestamp,
}

impl Hub {
    /// Records an operation in the transaction of its verb.
    pub(crate) async fn begin_operation(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        request: OperationRequest<'_>,
    ) -> Result<OperationId, Error> {
        let operation = Operation {
            id: self.generate_operation_id(tx, request.workload).await?,
            workload: request.name.to_owned(),
            kind: request.kind,
            revision: request.revision,
            restored_revision: request.restored_revision,
            actor: actor.name.clone(),
            started_at: request.started_at,
            closed_at: None,
            counts: OperationCounts::default(),
        };
        store::operation::insert(tx, request.workload, &operation).await?;
        if operation.kind == OperationKind::Publish {
            Box::pin(self.watch_publish(tx, request.workload, &operation)).await?;
        }
        Ok(operation.id)
    }

    /// An id after those of all operations of the workload, whose row is locked: their order is that of their ids. The latest one may be of the
    /// same millisecond, or of a server whose clock is ahead.
    async fn generate_operation_id(&self, tx: &mut Tx, workload: WorkloadId) -> Result<OperationId, Error> {
        let id = self.ids().generate(OperationId::from_parts);
        let latest = store::operation::get_latest(tx, workload).await?.map(|operation| operation.id);
        let after_latest = latest.filter(|latest| *latest >= id).and_then(OperationId::successor);
        Ok(after_latest.unwrap_or(id))
    }

    /// Records the outcome of the workload's open operations, before `releases` change for the next one.
    pub(crate) async fn close_operations(
        &self,
        tx: &mut Tx,
        workload: WorkloadId,
        releases: &[Release],
    ) -> Result<(), Error> {
        for operation in store::operation::list_open(tx, workload).await? {
            let targets = evaluate_releases(tx, workload, &operation, releases).await?;
            store::operation::close(tx, operation.id, &targets, self.clock().now()).await?;
        }
        Ok(())
    }

    /// One operation with its outcome on each cluster.
    ///
    /// # Errors
    /// There is no such operation; the workload's releases can't be read.
    pub async fn get_operation(&self, id: OperationId) -> Result<OperationView, Error> {
        let mut tx = self.read().await?;
        let found = store::operation::get(&mut tx, id).await?;
        let stored = found.ok_or_else(|| Error::not_found("operation", id.to_string()))?;
        load_view(&mut tx, stored).await
    }

    /// One page of a workload's operations, newest first.
    pub async fn list_operations(&self, workload: &str, query: &ListQuery) -> Result<Page<Operation>, Error> {
        let mut tx = self.read().await?;
        let head = self.load_workload_head(&mut tx, workload).await?;
        let mut page = store::operation::list(&mut tx, head.id, query).await?;
        if page.items.iter().any(|operation| operation.closed_at.is_none()) {
            let releases = store::release::list_all_by_workload(&mut tx, head.id).await?;
            for operation in page.items.iter_mut().filter(|operation| operation.closed_at.is_none()) {
                let targets = evaluate_releases(&mut tx, head.id, operation, &releases).await?;
                operation.counts = OperationCounts::from_targets(&targets);
            }
        }
        Ok(page)
    }

    /// Waits until each cluster has an outcome, at the latest until `deadline`.
    ///
    /// # Errors
    /// As [`Hub::get_operation`].
    pub(crate) async fn wait_for_operation(
        &self,
        id: OperationId,
        deadline: Instant,
    ) -> Result<AwaitedOperation, Error> {
        // Subscribed before the first read, so that a report between read and wait is not missed.
        let mut events = self.live().subscribe_events();
        loop {
            events.borrow_and_update();
            // Before the outcome: read after it, the placement could be newer, and the outcome without its clusters.
            let is_placed = self.is_placed(id).await?;
            let view = self.get_operation(id).await?;
            let now = Instant::now();
            if (is_placed && view.is_settled()) || now >= deadline {
                return Ok(AwaitedOperation { view, is_placed });
            }
            let until = deadline.min(now + POLL_EVERY);
            let _ = tokio::time::timeout_at(until, events.changed()).await;
        }
    }

    /// Whether the clusters of an operation are known: it is closed, or the placer has written the published revision.
    async fn is_placed(&self, id: OperationId) -> Result<bool, Error> {
        let mut tx = self.read().await?;
        let Some(stored) = store::operation::get(&mut tx, id).await? else { return Ok(true) };
        let open = stored.operation.revision.filter(|_| stored.operation.closed_at.is_none());
        let Some(revision) = open else { return Ok(true) };
        Ok(store::decision::get_placed_revision(&mut tx, stored.workload).await? >= revision)
    }
}

/// The publishes of these revisions of a workload, with their outcome.
pub(crate) async fn list_publish_operations(
    tx: &mut Tx,
    workload: WorkloadId,
    revisions: &[u32],
) -> Result<Vec<Operation>, Error> {
    let (Some(first), Some(last)) = (revisions.iter().min(), revisions.iter().max()) else {
        return Ok(Vec::new());
    };
    let mut operations = store::operation::list_publishes(tx, workload, *first, *last).await?;
    if operations.iter().any(|operation| operation.closed_at.is_none()) {
        let releases = store::release::list_all_by_workload(tx, workload).await?;
        for operation in operations.iter_mut().filter(|operation| operation.closed_at.is_none()) {
            let targets = evaluate_releases(tx, workload, operation, &releases).await?;
            operation.counts = OperationCounts::from_targets(&targets);
        }
    }
    Ok(operations)
}

/// The newest revision before `published` whose releases were healthy on every cluster when the next operation started; none among
/// the last [`HEALTHY_REVISION_SEARCH`].
pub(crate) async fn find_healthy_revision(
    tx: &mut Tx,
    workload: WorkloadId,
    published: u32,
) -> Result<Option<u32>, Error> {
    let first = published.saturating_sub(HEALTHY_REVISION_SEARCH);
    let earlier = store::operation::list_publishes(tx, workload, first, published.saturating_sub(1)).await?;
    let healthy = earlier.iter().rev().find(|operation| operation.counts.is_healthy());
    Ok(healthy.and_then(|operation| operation.revision))
}

/// An operation with its outcome: the recorded one, or that of now.
async fn load_view(tx: &mut Tx, stored: StoredOperation) -> Result<OperationView, Error> {
    let StoredOperation { workload, mut operation } = stored;
    let mut target_clusters = if operation.closed_at.is_some() {
        store::operation::get_targets(tx, operation.id).await?
    } else {
        let releases = store::release::list_all_by_workload(tx, workload).await?;
        evaluate_releases(tx, workload, &operation, &releases).await?
    };
    target_clusters.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    operation.counts = OperationCounts::from_targets(&target_clusters);
    let deliveries = store::publish_message::list(tx, operation.id).await?;
    Ok(OperationView { operation, target_clusters, deliveries })
}

/// The outcome of the open operations before the latest one. A publish leaves them open, because its transaction does not
/// read the releases.
pub(crate) async fn evaluate_earlier_operations(
    tx: &mut Tx,
    workload: WorkloadId,
    releases: &[Release],
) -> Result<Vec<(OperationId, Vec<OperationTarget>)>, Error> {
    let mut open = store::operation::list_open(tx, workload).await?;
    open.pop();
    let mut evaluated = Vec::with_capacity(open.len());
    for operation in open {
        let targets = evaluate_releases(tx, workload, &operation, releases).await?;
        evaluated.push((operation.id, targets));
    }
    Ok(evaluated)
}

/// The outcome on the cluster of each release that the operation concerns.
async fn evaluate_releases(
    tx: &mut Tx,
    workload: WorkloadId,
    operation: &Operation,
    releases: &[Release],
) -> Result<Vec<OperationTarget>, Error> {
    let names: HashMap<_, _> =
        store::operation::list_cluster_names(tx, workload).await?.into_iter().collect();
    let (leaving, scope) = match operation.kind {
        OperationKind::Sync => (
            list_requested_removals(tx, workload).await?,
            store::operation::get_scope(tx, operation.id).await?,
        ),
        _ => (HashSet::new(), None),
    };
    let evaluate = |release: &Release| {
        let cluster = release.cluster();
        let name = names.get(&cluster).map(String::as_str).unwrap_or_default();
        operation.evaluate_release(release, ReleaseCluster { name, is_leaving: leaving.contains(&cluster) })
    };
    let is_concerned =
        |release: &&Release| scope.as_ref().is_none_or(|scope| scope.contains(&release.cluster()));
    Ok(releases.iter().filter(is_concerned).filter_map(evaluate).collect())
}

/// The clusters whose requested removal the placer has not started.
async fn list_requested_removals(tx: &mut Tx, workload: WorkloadId) -> Result<HashSet<ClusterId>, Error> {
    let pending = store::pending_removal::list(tx, workload).await?;
    let requested = pending.into_iter().filter(|one| one.is_requested && one.retained_by.is_none());
    Ok(requested.map(|one| one.cluster).collect())
}
