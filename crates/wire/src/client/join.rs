//! Calls about joining clusters.

use domain::JoinTokenId;
use domain::cluster::Cluster;
use domain::join::{JoinToken, NewJoinToken, Registration};
use http::Method;

use super::Client;
use crate::{AcceptRequest, Error, InstallManifest, InstallRequest, JoinTokenCreated};

impl Client {
    /// The newest join tokens, without their secrets.
    pub async fn join_token_list(&self) -> Result<Vec<JoinToken>, Error> {
        self.api(Method::GET, &["join-tokens"]).json().await
    }

    /// Makes a join token; its text is in the answer and nowhere else.
    pub async fn join_token_create(&self, new: &NewJoinToken) -> Result<JoinTokenCreated, Error> {
        self.api(Method::POST, &["join-tokens"]).body(new).json().await
    }

    /// Ends a join token.
    pub async fn join_token_revoke(&self, id: JoinTokenId) -> Result<(), Error> {
        self.api(Method::DELETE, &["join-tokens", &id.to_string()]).nothing().await
    }

    /// Agents that wait for a person, and those that were refused.
    pub async fn registration_list(&self) -> Result<Vec<Registration>, Error> {
        self.api(Method::GET, &["registrations"]).json().await
    }

    /// Accepts the agent that waits under this name.
    pub async fn cluster_accept(&self, name: &str, accept: &AcceptRequest) -> Result<Cluster, Error> {
        self.cluster_verb(name, "accept").body(accept).json().await
    }

    /// Refuses the agent that waits under this name.
    pub async fn cluster_reject(&self, name: &str) -> Result<(), Error> {
        self.cluster_verb(name, "reject").nothing().await
    }

    /// Revokes the certificates of a cluster.
    pub async fn cluster_revoke(&self, name: &str) -> Result<(), Error> {
        self.cluster_verb(name, "revoke").nothing().await
    }

    /// What to install on a cluster that is to join under this name.
    pub async fn cluster_install(
        &self,
        name: &str,
        install: &InstallRequest,
    ) -> Result<InstallManifest, Error> {
        self.cluster_verb(name, "install").body(install).json().await
    }

    /// Forgets a cluster.
    pub async fn cluster_delete(&self, name: &str, force: bool) -> Result<(), Error> {
        self.api(Method::DELETE, &["clusters", name]).flag("force", force).nothing().await
    }

    fn cluster_verb(&self, name: &str, verb: &str) -> super::Call<'_> {
        if matches!(name, "" | "." | "..") {
            return self.api(Method::POST, &["clusters", name]);
        }
        self.api(Method::POST, &["clusters", &format!("{name}:{verb}")])
    }
}
