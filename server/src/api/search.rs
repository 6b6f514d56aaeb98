//! REST operation: search.

use axum::Json;
use axum::extract::State;
use domain::search::{MAX_LIMIT, SearchKind, SearchQuery, SearchResults};
use hub::Hub;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::Query;
use crate::problem::ApiError;

/// Selects what is searched for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchParams {
    /// Words that a name has to contain, all of them. Words that name an action, such as `sync`, select among the actions on the
    /// best match if no name contains them. Without any word, what fails comes first.
    q: Option<String>,
    /// Only these kinds, comma-separated: `failure`, `workload`, `cluster`, `group`, `chart`.
    kinds: Option<String>,
    /// At most this many items of each kind, 1 to 50; default 10.
    #[param(minimum = 1, maximum = 50)]
    limit: Option<u32>,
}

impl SearchParams {
    fn into_query(self) -> Result<SearchQuery, ApiError> {
        if self.limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
            return Err(ApiError::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
        }
        let names = self.kinds.unwrap_or_default();
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        let parse = |name: &str| {
            SearchKind::parse(name).ok_or_else(|| {
                let known: Vec<&str> = SearchKind::ALL.iter().map(|kind| kind.as_str()).collect();
                let shown: String = name.chars().take(60).collect();
                ApiError::bad_request(format!("{shown:?} is not a kind. Kinds are {}.", known.join(", ")))
            })
        };
        let kinds = names.map(parse).collect::<Result<Vec<_>, _>>()?;
        Ok(SearchQuery { q: self.q.unwrap_or_default(), kinds, limit: self.limit, recent: Vec::new() })
    }
}

/// Workloads, clusters, groups and charts by name, with the failing releases of what is found, and the actions on the best match.
#[utoipa::path(
    get,
    path = "/api/v1/search",
    tag = "fleet",
    params(SearchParams),
    responses((status = 200, body = SearchResults))
)]
pub async fn search(
    State(hub): State<Hub>,
    Query(params): Query<SearchParams>,
) -> Result<Json<SearchResults>, ApiError> {
    Ok(Json(hub.search(&params.into_query()?).await?))
}
