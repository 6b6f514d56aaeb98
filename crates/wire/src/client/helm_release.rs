//! Operations on Helm releases of clusters.

use domain::helm_release::{HelmReleaseAdoption, HelmReleaseDetails};
use domain::workload::Workload;
use http::Method;

use super::Client;
use crate::Error;

impl Client {
    /// Chart, version and values of a Helm release, read on the cluster now.
    pub async fn read_helm_release(
        &self,
        cluster: &str,
        namespace: &str,
        release: &str,
    ) -> Result<HelmReleaseDetails, Error> {
        let path = ["clusters", cluster, "helm-releases", namespace, &format!("{release}:read")];
        self.api_call(Method::POST, &path).send_json().await
    }

    /// Creates a draft that continues a Helm release.
    pub async fn adopt_helm_release(
        &self,
        (cluster, namespace, release): (&str, &str, &str),
        adoption: &HelmReleaseAdoption,
    ) -> Result<Workload, Error> {
        let path = ["clusters", cluster, "helm-releases", namespace, &format!("{release}:adopt")];
        self.api_call(Method::POST, &path).body(adoption).send_json().await
    }
}
