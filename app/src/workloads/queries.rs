//! Server functions that several pages of a workload use.

use domain::Timestamp;
use domain::placement::PendingRemoval;
use domain::workload::{Workload, WorkloadView};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;

/// What the head of a workload's page shows. Without the texts of its files: they can have a megabyte, and the head is read
/// again on every live notice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadHead {
    /// The workload.
    pub view: WorkloadView,
    /// Clusters that no longer match and lose the workload after the removal notice.
    pub pending_removals: Vec<PendingRemoval>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads the head of a workload's page.
#[server(prefix = "/api/fn", endpoint = "workload_head_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn workload_head_read(name: String) -> AppResult<WorkloadHead> {
    use super::source::limits::clear_texts;
    use crate::host;
    let hub = host::hub_for_reader()?;
    let (mut view, pending_removals) = host::into_app_result(hub.get_workload_with_removals(&name).await)?;
    clear_texts(&mut view.workload.draft.source);
    if let Some(revision) = &mut view.published_revision {
        clear_texts(&mut revision.spec.source);
    }
    Ok(WorkloadHead { view, pending_removals, read_at: hub.clock().now() })
}

/// Reads a workload with its whole draft, for the forms.
#[server(prefix = "/api/fn", endpoint = "draft_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_read(name: String) -> AppResult<Workload> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    Ok(host::into_app_result(hub.get_workload(&name).await)?.workload)
}
