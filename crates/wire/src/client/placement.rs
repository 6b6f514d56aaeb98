//! Operations on placement and cluster groups.

use domain::placement::{ClusterGroup, Decision, FeatureProperties, FeatureStatus, GroupPreview, GroupView};
use http::Method;

use super::send::ApiCall;
use super::{Client, ORGANIZATION, if_match};
use crate::{ClusterGroupPut, Error, PreviewRequest};

impl Client {
    /// The last placement decision of this workload, per cluster with the reasons.
    pub async fn get_placement_decision(&self, workload: &str) -> Result<Decision, Error> {
        self.project_call(Method::GET, &["workloads", workload, "placement"]).send_json().await
    }

    /// What a placement would select now; stores nothing.
    pub async fn preview_placement(&self, request: &PreviewRequest) -> Result<Decision, Error> {
        self.project_call(Method::POST, &["placements:preview"]).body(request).send_json().await
    }

    /// All cluster groups, by name.
    pub async fn list_groups(&self) -> Result<Vec<ClusterGroup>, Error> {
        self.api_call(Method::GET, &["cluster-groups"]).send_json().await
    }

    /// One cluster group, with its current members and users and what is wrong with it.
    pub async fn get_group(&self, name: &str) -> Result<GroupView, Error> {
        self.api_call(Method::GET, &["cluster-groups", name]).send_json().await
    }

    /// The features of a cluster group, with their reconcile state.
    pub async fn list_group_features(&self, group: &str) -> Result<Vec<FeatureStatus>, Error> {
        let path = ["orgs", ORGANIZATION, "clustergroups", group, "features"];
        self.api_call(Method::GET, &path).send_json().await
    }

    /// Enables a feature of a cluster group with these properties, or replaces its properties.
    pub async fn enable_group_feature(
        &self,
        group: &str,
        feature: &str,
        properties: &FeatureProperties,
    ) -> Result<FeatureStatus, Error> {
        self.feature_call(Method::PUT, group, feature).body(properties).send_json().await
    }

    /// Disables a feature of a cluster group.
    pub async fn disable_group_feature(&self, group: &str, feature: &str) -> Result<FeatureStatus, Error> {
        self.feature_call(Method::DELETE, group, feature).send_json().await
    }

    fn feature_call(&self, method: Method, group: &str, feature: &str) -> ApiCall<'_> {
        let path = ["orgs", ORGANIZATION, "clustergroups", group, "features", feature];
        self.api_call(method, &path)
    }

    /// Creates a cluster group; rejected if the name exists.
    pub async fn create_group(&self, group: &ClusterGroup) -> Result<ClusterGroup, Error> {
        self.api_call(Method::POST, &["cluster-groups"]).body(group).send_json().await
    }

    /// Replaces a cluster group; rejected if it has not this revision any more.
    pub async fn put_group(
        &self,
        name: &str,
        put: &ClusterGroupPut,
        revision: i64,
    ) -> Result<ClusterGroup, Error> {
        let call = self.api_call(Method::PUT, &["cluster-groups", name]).header(Some(if_match(revision)));
        call.body(put).send_json().await
    }

    /// What it would do to save this cluster group.
    pub async fn preview_group(&self, name: &str, put: &ClusterGroupPut) -> Result<GroupPreview, Error> {
        let name = format!("{name}:preview");
        self.api_call(Method::POST, &["cluster-groups", &name]).body(put).send_json().await
    }

    /// Deletes a cluster group; rejected while a workload refers to it.
    pub async fn delete_group(&self, name: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["cluster-groups", name]).send_ignoring_body().await
    }
}
