//! Operations on overrides.

use serde::Deserialize;
use utoipa::IntoParams;

pub mod delete;
pub mod put;

/// An override of a workload.
#[derive(Debug, Deserialize)]
pub struct OfOverride {
    /// The workload.
    workload: String,
    /// The override.
    name: String,
}

/// When it takes effect.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct When {
    /// `true`: also in what is published, at once; only clusters whose manifests change are touched.
    #[param(required = false)]
    pub now: bool,
}
