//! The query of the search, for its page and for the palette.

use leptos::prelude::*;

use super::SearchSections;
use crate::errors::AppResult;

/// Searches. With `switch`, the slug of a tab, only workloads, which are opened at this tab. `recent` are names of workloads,
/// separated by commas, that come first without words. With `is_page` up to 50 items of each kind, else a few. With `release`, a
/// workload and a cluster separated by a slash, and without words: the actions on this release.
#[server(prefix = "/api/fn", endpoint = "search_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn search_read(
    q: String,
    switch: Option<String>,
    recent: String,
    is_page: bool,
    release: Option<String>,
) -> AppResult<SearchSections> {
    use super::entries::{SearchContext, compose_release_sections, compose_sections};
    use crate::host;
    use domain::search::{SearchKind, SearchQuery};
    let hub = host::hub_for_reader()?;
    let has_words = !q.trim().is_empty();
    if let Some((workload, cluster)) =
        release.as_deref().filter(|_| !has_words).and_then(|it| it.split_once('/'))
    {
        let kinds = vec![SearchKind::Workload];
        let query = SearchQuery { q: workload.to_owned(), kinds, limit: Some(5), recent: Vec::new() };
        let results = host::into_app_result(hub.search(&query).await)?;
        return Ok(compose_release_sections((workload, cluster), results.best));
    }
    let kinds = match (&switch, has_words || is_page) {
        (Some(_), _) => vec![SearchKind::Workload],
        (None, true) => Vec::new(),
        // Recent workloads and pages are beside it, so that there is no need to list everything.
        (None, false) => vec![SearchKind::Failure],
    };
    let limit = match (&switch, is_page) {
        (_, true) => 50,
        (Some(_), false) => 20,
        (None, false) => 5,
    };
    let recent = recent.split(',').take(5).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let query = SearchQuery { q, kinds, limit: Some(limit), recent };
    let results = host::into_app_result(hub.search(&query).await)?;
    let context = SearchContext { is_demo: host::demo_controls().is_some(), switch };
    Ok(compose_sections(&query, results, &context))
}
