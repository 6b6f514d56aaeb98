//! Server functions that more than one page of a workload uses.

use domain::Timestamp;
use domain::cluster::Cluster;
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

/// Every cluster, as placement sees it.
#[server(prefix = "/api/fn", endpoint = "candidates_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn candidates_read() -> Answer<Vec<Cluster>> {
    use crate::host;
    use domain::page::{ListQuery, MAX_LIMIT};
    /// Clusters a preview is made from at most.
    const PREVIEW_MAX: usize = 2_000;
    let hub = host::hub_for_reader()?;
    let mut query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let mut clusters = Vec::new();
    loop {
        let page = host::answer(hub.cluster_list(&query).await)?;
        clusters.extend(page.items.into_iter().map(|one| one.cluster));
        match page.next {
            Some(next) if clusters.len() < PREVIEW_MAX => query.cursor = Some(next),
            _ => return Ok(clusters),
        }
    }
}
