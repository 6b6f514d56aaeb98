//! What the page of a cluster shows, and its query.

use domain::cluster::ClusterSummary;
use domain::page::Page;
use domain::placement::PendingRemoval;
use domain::release::ReleaseView;
use domain::suspension::SuspensionDetails;
use domain::{Timestamp, WorkloadId};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::agent_permissions::AgentPermissions;
use super::capacity::QuotaUses;
use super::cluster_resources::LimitedNamespaces;
use super::helm_releases::HelmReleases;
use crate::errors::AppResult;

/// A cluster with the releases on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterView {
    /// The cluster; without its list of kinds, which `permissions` counts.
    pub summary: ClusterSummary,
    /// Its namespaces with limits.
    pub namespaces: LimitedNamespaces,
    /// The use of its quotas.
    pub quotas: QuotaUses,
    /// What its agent may write.
    pub permissions: AgentPermissions,
    /// The Helm releases that its agent reports.
    pub helm_releases: HelmReleases,
    /// The first names of the cluster groups that it is in.
    pub groups: Vec<String>,
    /// Number of these groups.
    pub groups_total: u32,
    /// The group of states by which its releases are filtered; empty for all.
    pub group: String,
    /// Whether the releases are not the first page.
    pub is_later_page: bool,
    /// Its releases, worst first.
    pub releases: Page<ReleaseView>,
    /// Its suspension, with what a resume changes.
    pub suspension: SuspensionDetails,
    /// The workloads that are about to be removed from it.
    pub pending_removals: Vec<(WorkloadId, PendingRemoval)>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "cluster_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn cluster_read(name: String, group: String, cursor: Option<String>) -> AppResult<ClusterView> {
    use crate::components::StateGroup;
    use crate::host;
    use domain::page::ListQuery;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let is_later_page = cursor.is_some();
    let query = ListQuery { state: StateGroup::state_filter(&group), cursor, ..ListQuery::default() };
    let details = host::into_app_result(hub.get_cluster_details(&name, &query).await)?;
    let hub::ClusterDetails { summary, releases, pending_removals, groups, groups_total } = details;
    let mut summary = host::into_app_result(hub.hide_secrets(&actor, summary).await)?;
    let suspension = host::into_app_result(hub.get_cluster_suspension(&name).await)?;
    let helm_releases = HelmReleases::from_facts(&summary.cluster.facts.namespaces);
    let permissions = AgentPermissions::from_facts(&summary.cluster.facts);
    let quotas = QuotaUses::from_facts(&summary.cluster.facts.namespaces);
    summary.cluster.facts.apis = Vec::new();
    let namespaces = LimitedNamespaces::from_facts(std::mem::take(&mut summary.cluster.facts.namespaces));
    Ok(ClusterView {
        summary,
        namespaces,
        quotas,
        permissions,
        groups,
        groups_total,
        group,
        is_later_page,
        helm_releases,
        releases,
        suspension,
        pending_removals,
        at: hub.clock().now(),
    })
}
