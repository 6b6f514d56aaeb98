//! Operations on join tokens and registrations.

use domain::JoinTokenId;
use domain::cluster::Cluster;
use domain::join::{JoinToken, NewJoinToken, Onboarding, Registration};
use http::Method;

use super::Client;
use crate::{AcceptRequest, Error, InstallManifest, InstallRequest, JoinTokenCreated};

impl Client {
    /// The newest join tokens, without their secrets.
    pub async fn list_join_tokens(&self) -> Result<Vec<JoinToken>, Error> {
        self.api_call(Method::GET, &["join-tokens"]).send_json().await
    }

    /// Creates a join token. Only this response contains its text.
    pub async fn create_join_token(&self, new: &NewJoinToken) -> Result<JoinTokenCreated, Error> {
        self.api_call(Method::POST, &["join-tokens"]).body(new).send_json().await
    }

    /// Revokes a join token.
    pub async fn revoke_join_token(&self, id: JoinTokenId) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["join-tokens", &id.to_string()]).send_ignoring_body().await
    }

    /// Pending and rejected registrations.
    pub async fn list_registrations(&self) -> Result<Vec<Registration>, Error> {
        self.api_call(Method::GET, &["registrations"]).send_json().await
    }

    /// The stages of a cluster that joins.
    pub async fn get_onboarding(&self, name: &str) -> Result<Onboarding, Error> {
        self.api_call(Method::GET, &["clusters", name, "onboarding"]).send_json().await
    }

    /// Accepts the pending registration of this name.
    pub async fn accept_cluster(&self, name: &str, accept: &AcceptRequest) -> Result<Cluster, Error> {
        self.cluster_action_call(name, "accept").body(accept).send_json().await
    }

    /// Rejects the pending registration of this name.
    pub async fn reject_cluster(&self, name: &str) -> Result<(), Error> {
        self.cluster_action_call(name, "reject").send_ignoring_body().await
    }

    /// Revokes the certificates of a cluster.
    pub async fn revoke_cluster(&self, name: &str) -> Result<(), Error> {
        self.cluster_action_call(name, "revoke").send_ignoring_body().await
    }

    /// Manifests that install an agent on a cluster of this name.
    pub async fn create_install_manifest(
        &self,
        name: &str,
        install: &InstallRequest,
    ) -> Result<InstallManifest, Error> {
        self.cluster_action_call(name, "install").body(install).send_json().await
    }

    /// Deletes a cluster from the hub.
    pub async fn delete_cluster(&self, name: &str, force: bool) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["clusters", name]).flag("force", force).send_ignoring_body().await
    }

    pub(super) fn cluster_action_call(&self, name: &str, verb: &str) -> super::ApiCall<'_> {
        if matches!(name, "" | "." | "..") {
            return self.api_call(Method::POST, &["clusters", name]);
        }
        self.api_call(Method::POST, &["clusters", &format!("{name}:{verb}")])
    }
}
