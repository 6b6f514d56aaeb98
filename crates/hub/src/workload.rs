//! Verbs and queries on workloads, one file each.

use std::collections::BTreeMap;

use domain::cluster::Reach;
use domain::guard::Exposures;
use domain::labels::Labels;
use domain::placement::Decision;
use domain::rollout::WaveOutlook;
use domain::workload::{DeletionPolicy, Workload, WorkloadSpec};
use domain::{Digest, Finding};
use store::Tx;

use crate::{Actor, Error, Hub};

mod check;
mod create;
mod delete;
mod edit;
mod keep;
mod list;
mod publish;
mod restore;
mod revision;
mod step;
mod sync;
mod unpublish;
mod view;

pub(crate) use check::{in_order, parse};

/// What an edit changes; parts left out stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadEdit {
    /// The whole new draft.
    pub spec: Option<WorkloadSpec>,
    /// All its labels.
    pub labels: Option<Labels>,
}

/// How a workload leaves its clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removal {
    /// What happens to the objects; `None` as the workload's own policy says.
    pub deletion: Option<DeletionPolicy>,
    /// Give clusters up that can't be reached (S1-23; default false).
    pub force: bool,
}

/// What a publish depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terms {
    /// The revision of the draft that was seen.
    pub seen: Option<i64>,
    /// The hash of the plan that was seen: refused if anything of it is otherwise now.
    pub plan: Option<Digest>,
    /// How many clusters may lose the workload; asked for when it is more than the limit (G505).
    pub confirm: Option<u32>,
}

impl Terms {
    /// Only the draft's revision matters.
    pub fn seen(revision: Option<i64>) -> Self {
        Self { seen: revision, ..Self::default() }
    }
}

/// What the guard rails say of a draft, and where it would go.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Where it would go.
    pub decision: Decision,
    /// Of the clusters it would go to, those that are not heard from as they should be.
    #[serde(skip)]
    pub away: BTreeMap<String, Reach>,
    /// The waves it would go in; none if it would go everywhere at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waves: Vec<WaveOutlook>,
    /// What it would expose there.
    #[serde(skip)]
    pub exposures: Exposures,
}

impl Hub {
    /// The workload with this name, or the error that says there is none.
    pub(crate) async fn load_workload(&self, tx: &mut Tx, name: &str) -> Result<Workload, Error> {
        let found = store::workload::by_name(tx, self.project(), name).await?;
        found.ok_or_else(|| Error::not_found("workload", name))
    }

    /// Stores a changed workload; refuses if somebody else changed it since `workload` was read.
    pub(crate) async fn store_workload(
        &self,
        tx: &mut Tx,
        actor: &Actor,
        workload: &mut Workload,
    ) -> Result<(), Error> {
        let read = workload.revision;
        workload.revision += 1;
        workload.updated_at = self.clock().now();
        match store::workload::update(tx, workload, read, &actor.name).await? {
            true => Ok(()),
            false => Err(Error::Changed { current: workload.revision }),
        }
    }
}

/// Refuses a change that was made on an older revision than the one there is.
pub(crate) fn check_match(current: i64, if_match: Option<i64>) -> Result<(), Error> {
    match if_match {
        Some(seen) if seen != current => Err(Error::Changed { current }),
        _ => Ok(()),
    }
}
