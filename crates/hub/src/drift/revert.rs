//! Reverts drift: the values of the workload are applied again, under either policy; of single fields only these.

use domain::authorization::UserAction;
use domain::drift::{DriftFieldRevert, DriftItem, DriftQuery, DriftRevertRequest, DriftVerb};
use domain::event::{EventKind, NewEvent};
use domain::name_list::join_first;
use domain::overrides::ObjectSelector;
use domain::page::MAX_LIMIT;
use domain::release::Release;
use domain::report::ResourceStatus;
use domain::{DriftId, ReleaseId};
use store::Tx;

use super::{check_decision, precondition, show_item};
use crate::hub::CommitEffects;
use crate::idempotency::IN_PROGRESS;
use crate::{Actor, Error, Hub};

/// Paths that an event names; the others are counted.
const MAX_NAMED_PATHS: usize = 5;

impl Hub {
    /// Requests the cluster of an entry to apply the workload again now, whatever its policy is. It reverts everything that drifts in
    /// this workload on this cluster, and a contested field is tried again. Returns the entry, which ends with the cluster's next report.
    ///
    /// # Errors
    /// There is no such entry; the workload can't be synced.
    pub async fn revert_drift(&self, actor: &Actor, id: DriftId) -> Result<DriftItem, Error> {
        actor.authorize(UserAction::Sync)?;
        let name = self.read_drift_row(id).await?.item.workload;
        let mut tx = self.write_as(actor, UserAction::Sync).await?;
        let workload = self.lock_workload_head(&mut tx, &name).await?;
        let row = self.load_drift_row(&mut tx, id).await?;
        check_decision(&row, DriftVerb::Revert, None)?;
        let (_, effects) = self.stage_sync(&mut tx, actor, &workload, &[row.cluster]).await?;
        let item = show_item(actor, row);
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &item)).await?;
        Ok(item)
    }

    /// Requests the cluster of an entry to write these fields back, and nothing else of the object. Returns the entry, which has the request
    /// until the cluster has answered. What the cluster can't revert alone it leaves as it is, and says why.
    ///
    /// # Errors
    /// There is no such entry, or a field of it does not drift; its fields have changed since they were read; the workload can't be
    /// synced, or is suspended there.
    pub async fn revert_drift_fields(
        &self,
        actor: &Actor,
        id: DriftId,
        request: &DriftRevertRequest,
    ) -> Result<DriftItem, Error> {
        actor.authorize(UserAction::Sync)?;
        let found = self.read_drift_row(id).await?;
        let name = found.item.workload;
        let mut tx = self.write_as(actor, UserAction::Sync).await?;
        let workload = self.lock_workload_head(&mut tx, &name).await?;
        // Locked before its entry is read again, so that no report ends the entry before the request is stored.
        let release = store::release::get(&mut tx, found.release).await?;
        let mut row = self.load_drift_row(&mut tx, id).await?;
        check_decision(&row, DriftVerb::Revert, request.digest.as_ref())?;
        let decided = self.find_decided_fields(&mut tx, &row, &request.fields).await?;
        if let Some(why) = release.as_ref().and_then(Release::suspension_reason) {
            return Err(precondition(format!(
                "Nothing of {name} is reverted there while it is suspended. {why}"
            )));
        }
        let paths: Vec<String> = decided.into_iter().map(|field| field.path).collect();
        let revert = DriftFieldRevert { paths, by: actor.name.clone(), at: self.clock().now(), error: None };
        let request_id = self.ids().generate(DriftId::from_parts).to_string();
        store::field_revert::put(&mut tx, id, &request_id, &revert).await?;
        let fields = join_first(&revert.paths, MAX_NAMED_PATHS);
        let message = format!("A revert of {fields} of {} was requested.", row.item.object);
        let event = NewEvent::new(EventKind::DriftRevertRequested, &actor.name, message)
            .with_workload(workload.id, &workload.name)
            .with_cluster(row.cluster, &row.item.cluster)
            .with_release(row.release);
        row.item.revert = Some(revert);
        let cluster = row.cluster;
        let item = show_item(actor, row);
        let effects = CommitEffects { changed_clusters: vec![cluster], ..CommitEffects::with_event(event) };
        self.commit(tx, effects.with_response(actor, IN_PROGRESS, &item)).await?;
        Ok(item)
    }

    /// The same for one field of an object of a release.
    ///
    /// # Errors
    /// As [`Self::revert_drift_fields`], or the object does not drift there.
    pub async fn revert_drift_field_of(
        &self,
        actor: &Actor,
        (workload, cluster): (&str, &str),
        object: &ObjectSelector,
        path: &str,
    ) -> Result<DriftItem, Error> {
        actor.authorize(UserAction::Sync)?;
        let mut query = DriftQuery {
            workload: workload.to_owned(),
            cluster: cluster.to_owned(),
            limit: Some(MAX_LIMIT),
            ..DriftQuery::default()
        };
        // A release has at most as many entries as one page, which may end early because of their bytes.
        loop {
            let page = self.list_drift(actor, &query).await?;
            if let Some(item) = page.items.iter().find(|item| object.matches_ref(&item.object)) {
                let request = DriftRevertRequest { fields: vec![path.to_owned()], digest: None };
                return self.revert_drift_fields(actor, item.id, &request).await;
            }
            query.cursor = page.next;
            if query.cursor.is_none() {
                return Err(precondition(format!(
                    "This object of {workload} does not drift on {cluster} now."
                )));
            }
        }
    }
}

/// Records what became of requests to revert single fields. Returns whether any was answered.
pub(crate) async fn record_field_reverts(
    tx: &mut Tx,
    release: ReleaseId,
    resources: &[ResourceStatus],
) -> Result<bool, Error> {
    let answers: Vec<_> = resources.iter().filter_map(|resource| resource.field_revert.as_ref()).collect();
    if answers.is_empty() {
        return Ok(false);
    }
    // An agent may send as many answers as there are objects: only those that are waited for cost a statement.
    let mut open = store::field_revert::list_open(tx, release).await?;
    let mut is_answered = false;
    for outcome in answers {
        let Some(at) = open.iter().position(|id| *id == outcome.id) else { continue };
        open.swap_remove(at);
        is_answered |= store::field_revert::record_outcome(tx, release, outcome).await?;
    }
    Ok(is_answered)
}
