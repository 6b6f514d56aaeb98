//! Server functions that more than one page of a workload uses.

use domain::Timestamp;
use domain::placement::Leaving;
use domain::workload::{Workload, WorkloadView};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::Answer;

/// A workload as its head shows it. The texts of its files stay behind: they can be a megabyte, and the head is asked for
/// with every notice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The workload.
    pub view: WorkloadView,
    /// Clusters that no longer match and are about to lose it.
    pub leaving: Vec<Leaving>,
    /// When this was read.
    pub at: Timestamp,
}

/// The head of a workload's page.
#[server(prefix = "/api/fn", endpoint = "head_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn head_read(name: String) -> Answer<Head> {
    use super::source::without_texts;
    use crate::host;
    let hub = host::hub_for_reader()?;
    let mut view = host::answer(hub.workload_view(&name).await)?;
    without_texts(&mut view.workload.draft.source);
    if let Some(revision) = &mut view.published_revision {
        without_texts(&mut revision.spec.source);
    }
    let leaving = host::answer(hub.placement_leaving(&name).await)?;
    Ok(Head { view, leaving, at: hub.clock().now() })
}

/// A workload with its whole draft, for the forms.
#[server(prefix = "/api/fn", endpoint = "draft_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_read(name: String) -> Answer<Workload> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    Ok(host::answer(hub.workload_view(&name).await)?.workload)
}
