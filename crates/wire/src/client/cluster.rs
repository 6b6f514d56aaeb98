//! Operations on clusters.

use domain::cluster::{Cluster, ClusterSummary, ConfirmedFacts};
use domain::page::{ListQuery, Page};
use domain::release::ReleaseView;
use domain::suspension::{ClusterSuspendRequest, SuspensionDetails};
use http::Method;

use super::{Client, if_match};
use crate::{ClusterPatch, ClusterPreview, Error, FaultRequest};

impl Client {
    /// One page of clusters, by name.
    pub async fn list_clusters(&self, query: &ListQuery) -> Result<Page<ClusterSummary>, Error> {
        self.api_call(Method::GET, &["clusters"]).query(query).send_json().await
    }

    /// One cluster with its facts and counts.
    pub async fn get_cluster(&self, name: &str) -> Result<ClusterSummary, Error> {
        self.api_call(Method::GET, &["clusters", name]).send_json().await
    }

    /// Changes labels, taints or schedulability.
    pub async fn patch_cluster(
        &self,
        name: &str,
        patch: &ClusterPatch,
        revision: Option<i64>,
    ) -> Result<Cluster, Error> {
        let call = self.api_call(Method::PATCH, &["clusters", name]).header(revision.map(if_match));
        call.body(patch).send_json().await
    }

    /// Suspends it: of no workload anything is applied, reverted or deleted there.
    pub async fn suspend_cluster(
        &self,
        name: &str,
        request: &ClusterSuspendRequest,
    ) -> Result<SuspensionDetails, Error> {
        self.cluster_action_call(name, "suspend").body(request).send_json().await
    }

    /// Ends its suspension; returns what changes of each workload there.
    pub async fn resume_cluster(&self, name: &str) -> Result<SuspensionDetails, Error> {
        self.cluster_action_call(name, "resume").send_json().await
    }

    /// Its suspension, and what a resume would change.
    pub async fn get_cluster_suspension(&self, name: &str) -> Result<SuspensionDetails, Error> {
        self.api_call(Method::GET, &["clusters", name, "suspension"]).send_json().await
    }

    /// What this change would do; stores nothing.
    pub async fn preview_cluster(&self, name: &str, patch: &ClusterPatch) -> Result<ClusterPreview, Error> {
        self.cluster_action_call(name, "preview").body(patch).send_json().await
    }

    /// Confirms the facts that a cluster reports.
    pub async fn confirm_cluster_facts(
        &self,
        name: &str,
        facts: &ConfirmedFacts,
        revision: Option<i64>,
    ) -> Result<Cluster, Error> {
        let call = self.cluster_action_call(name, "confirmFacts").header(revision.map(if_match));
        call.body(facts).send_json().await
    }

    /// One page of the releases on a cluster, worst first; without resources.
    pub async fn list_cluster_releases(
        &self,
        name: &str,
        query: &ListQuery,
    ) -> Result<Page<ReleaseView>, Error> {
        self.api_call(Method::GET, &["clusters", name, "releases"]).query(query).send_json().await
    }

    /// Injects a fault into a simulated cluster. Returns a sentence that describes what was done.
    pub async fn inject_fault(&self, name: &str, request: &FaultRequest) -> Result<String, Error> {
        self.api_call(Method::POST, &["clusters", name, "demo:injectFault"]).body(request).send_json().await
    }
}
