//! Calls on clusters.

use domain::cluster::{Cluster, ClusterSummary};
use domain::page::{ListQuery, Page};
use domain::release::ReleaseView;
use http::Method;

use super::{Client, if_match};
use crate::{BreakRequest, ClusterPatch, Error};

impl Client {
    /// One page of clusters, by name.
    pub async fn cluster_list(&self, query: &ListQuery) -> Result<Page<ClusterSummary>, Error> {
        self.api(Method::GET, &["clusters"]).query(query).json().await
    }

    /// One cluster with its facts and counts.
    pub async fn cluster_get(&self, name: &str) -> Result<ClusterSummary, Error> {
        self.api(Method::GET, &["clusters", name]).json().await
    }

    /// Changes labels, taints or schedulability.
    pub async fn cluster_patch(
        &self,
        name: &str,
        patch: &ClusterPatch,
        revision: Option<i64>,
    ) -> Result<Cluster, Error> {
        let call = self.api(Method::PATCH, &["clusters", name]).header(revision.map(if_match));
        call.body(patch).json().await
    }

    /// One page of the releases on a cluster, worst first; without resources.
    pub async fn cluster_releases(&self, name: &str, query: &ListQuery) -> Result<Page<ReleaseView>, Error> {
        self.api(Method::GET, &["clusters", name, "releases"]).query(query).json().await
    }

    /// Breaks something on a simulated cluster. Returns what was done, in a sentence.
    pub async fn cluster_break(&self, name: &str, request: &BreakRequest) -> Result<String, Error> {
        self.api(Method::POST, &["clusters", name, "demo:break"]).body(request).json().await
    }
}
