//! Several selected workloads and what an action on them concerns. The action is the verb on each of them.

use domain::actions;
use domain::selection::{BulkAction, LatestOperation, SelectedWorkload, WorkloadSelection};
use domain::workload::{WorkloadHead, WorkloadPhase};
use domain::{WorkloadId, rollup::ReleaseCounts};
use store::Tx;

use crate::{Error, Hub};

impl Hub {
    /// The workloads with these names, each with the reason if the action is unavailable. One that does not exist or can't be
    /// read is part of the result.
    pub async fn get_workload_selection(
        &self,
        names: &[String],
        action: BulkAction,
    ) -> Result<WorkloadSelection, Error> {
        let mut tx = self.read().await?;
        let mut items = Vec::with_capacity(names.len());
        let mut available = Vec::new();
        for name in names {
            match self.load_workload_head(&mut tx, name).await {
                Ok(head) => {
                    let item = load_item(&mut tx, &head, action).await?;
                    if item.unavailable.is_none() {
                        available.push(head.id);
                    }
                    items.push((Some(head.id), item));
                }
                Err(error @ (Error::NotFound { .. } | Error::Unreadable { .. })) => {
                    items.push((None, absent_item(name, error.to_string())));
                }
                Err(error) => return Err(error),
            }
        }
        let ids: Vec<WorkloadId> = items.iter().filter_map(|(id, _)| *id).collect();
        let objects = store::release::count_objects(&mut tx, &ids).await?;
        let clusters = store::release::count_clusters(&mut tx, &available).await?;
        let with_objects = |(id, item): (Option<WorkloadId>, SelectedWorkload)| {
            let objects = id.and_then(|id| objects.get(&id).copied()).unwrap_or_default();
            SelectedWorkload { objects, ..item }
        };
        Ok(WorkloadSelection {
            items: items.into_iter().map(with_objects).collect(),
            clusters: u32::try_from(clusters).unwrap_or(u32::MAX),
        })
    }
}

async fn load_item(tx: &mut Tx, head: &WorkloadHead, action: BulkAction) -> Result<SelectedWorkload, Error> {
    let check = match action {
        BulkAction::Sync => actions::check_sync(head),
        BulkAction::Unpublish => actions::check_unpublish(head),
    };
    let counts = store::release::counts_by_workload(tx, &[head.id]).await?;
    let counts = counts.into_values().next().unwrap_or_default();
    let unreachable = store::release::count_unreachable(tx, head.id).await?;
    let latest = store::operation::get_latest(tx, head.id).await?;
    Ok(SelectedWorkload {
        name: head.name.clone(),
        phase: Some(WorkloadPhase::from_releases(head.intent, &counts)),
        counts,
        objects: 0,
        unreachable: u32::try_from(unreachable).unwrap_or(u32::MAX),
        unavailable: check.err().map(|why| why.to_string()),
        latest: latest.map(|latest| LatestOperation {
            kind: latest.kind,
            actor: latest.actor,
            at: latest.started_at,
        }),
    })
}

fn absent_item(name: &str, why: String) -> SelectedWorkload {
    SelectedWorkload {
        name: name.to_owned(),
        phase: None,
        counts: ReleaseCounts::default(),
        objects: 0,
        unreachable: 0,
        unavailable: Some(why),
        latest: None,
    }
}
