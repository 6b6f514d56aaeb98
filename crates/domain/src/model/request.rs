//! Inputs of verbs and queries, the same type in the REST API, the command line, the console and the hub.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::cluster::Taint;
use crate::model::overrides::{ClusterSelector, DEFAULT_PRIORITY, Patch};
use crate::model::page::DEFAULT_LIMIT;
use crate::model::policy::DeletionPolicy;

/// Changes to a cluster; omitted fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterPatch {
    /// Labels to set; `null` as a value removes the label.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set; `null` as a value removes the annotation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Option<String>>,
    /// All values of its own, for templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub values: Option<Map<String, Value>>,
    /// The complete list of taints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// Whether new workloads may be placed on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedulable: Option<bool>,
    /// The complete list of its owners; empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owners: Option<Vec<String>>,
}

/// An override; its name is in the URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OverridePut {
    /// The clusters it applies to.
    pub target: ClusterSelector,
    /// Its priority among overrides that are equally specific, 0 to 1000.
    pub priority: u32,
    /// Values of the chart, as YAML; merged over the common values.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub values: String,
    /// Patches, in order.
    pub patches: Vec<Patch>,
}

impl Default for OverridePut {
    fn default() -> Self {
        Self {
            target: ClusterSelector::default(),
            priority: DEFAULT_PRIORITY,
            values: String::new(),
            patches: Vec::new(),
        }
    }
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Options for unpublishing or deleting a workload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RemovalOptions {
    /// What happens to the objects; the workload's own policy if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion: Option<DeletionPolicy>,
    /// Whether to abandon the releases on clusters that can't be reached (S1-23; default false).
    #[cfg_attr(feature = "openapi", param(required = false))]
    pub force: bool,
    /// Whether to remove it although workloads that depend on it run on the same clusters (G313; default false).
    #[serde(skip_serializing_if = "is_false")]
    #[cfg_attr(feature = "openapi", param(required = false))]
    pub ignore_dependents: bool,
}

/// Filter and page of an event list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EventQuery {
    /// Only events before this position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    /// Only of the workload with this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Only of the cluster with this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Page size, 1 to 500; 50 if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 500))]
    pub limit: Option<u32>,
}

impl EventQuery {
    /// The page size.
    pub fn limit(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_LIMIT)
    }
}
