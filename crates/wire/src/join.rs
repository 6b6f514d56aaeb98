//! Requests about joining.

use domain::labels::Labels;
use domain::{JoinTokenId, Timestamp};
use serde::{Deserialize, Serialize};

/// A new join token. The text is shown this once and kept nowhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoinTokenCreated {
    /// Its id.
    pub id: JoinTokenId,
    /// The token, `flj_…`: what an agent is started with.
    pub token: String,
    /// Where agents dial.
    pub hub: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for JoinTokenCreated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinTokenCreated").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Which agent is accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AcceptRequest {
    /// SHA-256 of its public key, as the agent prints it; another key is refused. Any, if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// What is to be installed on a cluster that joins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct InstallRequest {
    /// Namespaces that the agent may write to. None and not `cluster_wide`: nothing but its own records.
    pub namespaces: Vec<String>,
    /// Kinds that it may write, such as `Deployment` or `certificates.cert-manager.io`; the usual ones if left out.
    pub kinds: Vec<String>,
    /// Whether it may write them in every namespace, and make namespaces.
    pub cluster_wide: bool,
    /// A service account, `namespace/name`, in whose name it acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<String>,
    /// The agent's image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Labels that the cluster gets.
    pub labels: Labels,
    /// Whether no person has to accept it.
    pub auto_accept: bool,
    /// How long the token lives, in minutes; a day if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}

/// What to give to `kubectl apply -f -`. It holds a join token: it is shown this once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct InstallManifest {
    /// The token in it.
    pub token: JoinTokenId,
    /// The manifests, as YAML documents.
    pub manifest: String,
}

impl std::fmt::Debug for InstallManifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstallManifest").field("token", &self.token).finish_non_exhaustive()
    }
}
