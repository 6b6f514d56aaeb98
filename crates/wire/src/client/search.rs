//! The search.

use domain::search::SearchResults;
use http::Method;
use serde::Serialize;

use super::Client;
use crate::Error;

/// Selects what is searched for.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SearchRequest {
    /// Words that a name has to contain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub q: String,
    /// Names of kinds, comma-separated; all kinds if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kinds: String,
    /// At most this many items of each kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

impl Client {
    /// Workloads, clusters, groups and charts by name, with the failing releases of what is found.
    pub async fn search(&self, params: &SearchRequest) -> Result<SearchResults, Error> {
        self.api_call(Method::GET, &["search"]).query(params).send_json().await
    }
}
