//! Operations on overrides.

use serde::Deserialize;
use utoipa::IntoParams;

pub mod delete;
pub mod put;

/// Path parameters of an override.
#[derive(Debug, Deserialize)]
pub struct OverridePath {
    /// The workload.
    workload: String,
    /// The override.
    name: String,
}

/// Whether the change waits for the next publish.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct OverrideQuery {
    /// `true`: change the published revision too, without a publish; only clusters whose manifests differ are updated.
    #[param(required = false)]
    pub now: bool,
}
