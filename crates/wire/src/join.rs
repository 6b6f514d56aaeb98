//! Requests and responses about joining clusters.

use domain::labels::Labels;
use domain::{JoinTokenId, Timestamp};
use serde::{Deserialize, Serialize};

/// A new join token. Its text is not stored and can't be read again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoinTokenCreated {
    /// Its id.
    pub id: JoinTokenId,
    /// The token, `flj_…`, with which an agent is started.
    pub token: String,
    /// The hub's URL for agents.
    pub hub: String,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for JoinTokenCreated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinTokenCreated").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Acceptance of a registration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AcceptRequest {
    /// SHA-256 of the agent's public key, as the agent logs it; another key is rejected. Any key if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// Options of the manifests that install an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct InstallRequest {
    /// Namespaces that the agent may write to. If empty and not `cluster_wide`, it may write only its own records.
    pub namespaces: Vec<String>,
    /// Kinds that it may write, such as `Deployment` or `certificates.cert-manager.io`; the default kinds if empty.
    pub kinds: Vec<String>,
    /// Whether it may write them in every namespace, and create namespaces.
    pub cluster_wide: bool,
    /// A service account to impersonate, `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonate: Option<String>,
    /// The agent's image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Labels of the new cluster.
    #[cfg_attr(feature = "openapi", schema(value_type = domain::labels::LabelMap))]
    pub labels: Labels,
    /// Whether the registration is accepted automatically.
    pub auto_accept: bool,
    /// Lifetime of the token in minutes; a day if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
}

/// Manifests for `kubectl apply -f -`. They contain a join token and can't be read again.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct InstallManifest {
    /// The id of the join token in it.
    pub token: JoinTokenId,
    /// The manifests, as YAML documents.
    pub manifest: String,
}

impl std::fmt::Debug for InstallManifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstallManifest").field("token", &self.token).finish_non_exhaustive()
    }
}
