//! Verbs and queries on workloads, one file each.

use std::collections::BTreeMap;

use domain::authorization::UserAction;
use domain::cluster::Connectivity;
use domain::labels::Labels;
use domain::placement::Decision;
use domain::rollout::{OnFailure, WavePreview};
use domain::workload::{Workload, WorkloadHead, WorkloadSpec};
use domain::{Digest, Finding, WorkloadId};
use store::Tx;

use crate::{Actor, Error, Hub};

mod change_draft;
mod check;
mod create;
mod delete;
mod draft_changes;
mod edit;
mod history;
mod ignore_drift;
mod list;
mod publish;
mod publish_content;
mod render;
mod restore;
mod retain;
mod revision;
mod selection;
mod snapshot;
mod sync;
mod unpublish;
mod unwrap_chart;
mod values;
mod view;

pub use change_draft::DraftPatch;
pub use check::ContentCheck;
pub(crate) use check::trim_passed_filters;
pub use history::{RevisionEntry, RevisionHistory};
pub use publish_content::PublishContent;
pub use revision::{RevisionComparison, RevisionDetails};
pub(crate) use snapshot::{
    InstalledReleases, PublishSnapshot, PublishableWorkload, hide_values, in_decision_order,
    load_present_releases,
};
pub use view::WorkloadDetails;

/// An edit of a workload; omitted fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadEdit {
    /// Replaces the draft.
    pub spec: Option<WorkloadSpec>,
    /// Replaces all labels.
    pub labels: Option<Labels>,
    /// Replaces all owners.
    pub owners: Option<Vec<String>>,
}

/// What a publish stores, with its preconditions and confirmations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishOptions {
    /// What is published: by default the draft.
    pub content: PublishContent,
    /// The revision of the draft that was reviewed.
    pub draft_revision: Option<i64>,
    /// The hash of the plan that was reviewed: the publish is rejected if its inputs have changed.
    pub plan_hash: Option<Digest>,
    /// The confirmed number of clusters that lose the workload; required above the limit (G505).
    pub confirmed_removals: Option<u32>,
    /// The codes of guard rails that clusters may have rejected the plan with, or that ask for a decision (G125, G313).
    pub force: Vec<String>,
    /// The form in which the response is stored for a repeated request.
    pub response: PublishResponse,
}

/// The response to a request that publishes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PublishResponse {
    /// The result of the publish.
    #[default]
    Publish,
    /// That of the deployment API, in progress; with the findings of the request itself. The feature `deployment` of the group
    /// of the deployment has to be enabled.
    Deployment {
        /// The group.
        group: String,
        /// The release name, which may differ from the name of the workload.
        release_name: String,
        /// Its findings.
        findings: Vec<Finding>,
    },
}

impl PublishOptions {
    /// Options with only the draft's revision.
    pub fn for_draft_revision(revision: Option<i64>) -> Self {
        Self { draft_revision: revision, ..Self::default() }
    }
}

/// The findings and the placement of a draft.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// The placement decision.
    pub decision: Decision,
    /// The selected clusters that are not online.
    #[serde(skip)]
    pub not_online: BTreeMap<String, Connectivity>,
    /// The number of manifests in its source.
    #[serde(skip)]
    pub manifests: usize,
    /// The waves of its rollout; empty without waves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<WavePreview>,
    /// What happens when more clusters fail than a wave allows.
    #[serde(default, skip_serializing_if = "OnFailure::is_pause")]
    pub on_failure: OnFailure,
}

impl Hub {
    /// The workload with this name, or [`Error::NotFound`].
    pub(crate) async fn load_workload(&self, tx: &mut Tx, name: &str) -> Result<Workload, Error> {
        let found = store::workload::get_by_name(tx, self.project(), name).await;
        let found = found.map_err(|error| Error::from(error).with_unreadable_workload(name))?;
        found.ok_or_else(|| Error::not_found("workload", name))
    }

    /// The workload with this name without its draft, which may be unreadable, or [`Error::NotFound`].
    pub(crate) async fn load_workload_head(&self, tx: &mut Tx, name: &str) -> Result<WorkloadHead, Error> {
        let found = store::workload::get_head_by_name(tx, self.project(), name).await;
        let found = found.map_err(|error| Error::from(error).with_unreadable_workload(name))?;
        found.ok_or_else(|| Error::not_found("workload", name))
    }

    /// The same, locked until the transaction ends: before the first row that belongs to the workload is locked.
    pub(crate) async fn lock_workload_head(&self, tx: &mut Tx, name: &str) -> Result<WorkloadHead, Error> {
        let found = self.load_workload_head(tx, name).await?;
        let locked = store::workload::lock_head(tx, found.id).await;
        let locked = locked.map_err(|error| Error::from(error).with_unreadable_workload(name))?;
        locked.ok_or_else(|| Error::not_found("workload", name))
    }

    /// Locks these workloads with their active rollouts and their releases until the transaction ends, for a change of more than one
    /// workload.
    pub(crate) async fn lock_workloads(&self, tx: &mut Tx, ids: &[WorkloadId]) -> Result<(), Error> {
        store::workload::lock_many(tx, ids).await?;
        store::rollout::lock_open(tx, ids).await?;
        Ok(store::release::lock_by_workloads(tx, ids).await?)
    }

    /// Stores a changed workload; [`Error::RevisionConflict`] if it was changed since `workload` was read.
    pub(crate) async fn store_workload(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        workload: &mut Workload,
    ) -> Result<(), Error> {
        let may_set_all = POLICIES_OF_ADMINS.iter().all(|action| actor.check_role(*action).is_ok());
        if !may_set_all {
            let stored = store::workload::get_by_id(tx, workload.id).await?;
            authorize_policies(actor, stored.as_ref().map(|stored| &stored.draft), &workload.draft)?;
        }
        self.store_authorized_workload(tx, actor, workload).await
    }

    /// The same for a workload whose draft has the policies that are stored, or whose policies were authorized: the stored draft is not
    /// decoded while the database is locked.
    pub(crate) async fn store_authorized_workload(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        workload: &mut Workload,
    ) -> Result<(), Error> {
        let expected = workload.revision;
        workload.revision += 1;
        workload.updated_at = self.clock().now();
        match store::workload::update(tx, workload, expected, &actor.name).await? {
            true => Ok(()),
            false => Err(Error::RevisionConflict { current: workload.revision }),
        }
    }
}

/// What [`authorize_policies`] requires for policies that only an admin may set.
const POLICIES_OF_ADMINS: [UserAction; 2] = [UserAction::AllowSystemNamespaces, UserAction::SetExecutor];

/// Rejects policies that only an admin may set, wherever they come from: to write to the namespaces of Kubernetes itself (G107), and to act
/// on clusters as another service account, or no longer as the one that an admin has set. `before` is the draft that is replaced: what it
/// has may stay.
pub(crate) fn authorize_policies(
    actor: &Actor,
    before: Option<&WorkloadSpec>,
    after: &WorkloadSpec,
) -> Result<(), Error> {
    authorize_system_namespaces(actor, before, after)?;
    authorize_executor(actor, before, after)
}

/// The same for what a publish stores as the next revision: an earlier revision may have been allowed more than the draft is. The executor
/// of the `published` revision may stay too, because an override is published without the other changes of the draft.
pub(crate) fn authorize_revision(
    actor: &Actor,
    draft: &WorkloadSpec,
    published: Option<&WorkloadSpec>,
    after: &WorkloadSpec,
) -> Result<(), Error> {
    authorize_system_namespaces(actor, Some(draft), after)?;
    let same = published.filter(|spec| spec.policies.executor == after.policies.executor);
    authorize_executor(actor, same.or(Some(draft)), after)
}

fn authorize_system_namespaces(
    actor: &Actor,
    before: Option<&WorkloadSpec>,
    after: &WorkloadSpec,
) -> Result<(), Error> {
    let allows = |spec: &WorkloadSpec| spec.policies.allow_system_namespaces;
    if allows(after) && !before.is_some_and(allows) {
        actor.authorize(UserAction::AllowSystemNamespaces)?;
    }
    Ok(())
}

fn authorize_executor(
    actor: &Actor,
    before: Option<&WorkloadSpec>,
    after: &WorkloadSpec,
) -> Result<(), Error> {
    if after.policies.executor != before.map_or("", |spec| spec.policies.executor.as_str()) {
        actor.authorize(UserAction::SetExecutor)?;
    }
    Ok(())
}

/// Rejects a change that was based on another revision than the current one.
pub(crate) fn check_if_match(current: i64, if_match: Option<i64>) -> Result<(), Error> {
    match if_match {
        Some(expected) if expected != current => Err(Error::RevisionConflict { current }),
        _ => Ok(()),
    }
}
