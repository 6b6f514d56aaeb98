//! `GET /install/{cluster}`: the manifests of an agent, for whoever has its join token. So one line that a person pastes where
//! `kubectl` points at the cluster needs neither a session nor Flotilla's command line.

use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_TYPE, COOKIE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use hub::InstallOptions;
use serde::Deserialize;
use tower_sessions::cookie::Cookie;
use wire::agent::JoinTokenParts;

use crate::input::{ClusterPath, Path, Query};
use crate::problem::ApiError;
use crate::site::Site;

/// Path of the route.
pub const PATH: &str = "/install/{cluster}";
/// What every such path begins with.
pub const PATH_PREFIX: &str = "/install/";

/// The rights of the agent. A misspelt one is rejected: ignored, it would give the agent other rights than those that were meant.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallQuery {
    /// Namespaces that it may write to, separated by commas.
    namespaces: String,
    /// Kinds that it may write, separated by commas.
    kinds: String,
    /// Whether it may write them in every namespace.
    cluster_wide: bool,
}

/// Returns the manifests with the join token of the request. The query selects the rights: whoever has the token could write
/// the same manifests by hand.
pub async fn serve_manifests(
    State(site): State<Site>,
    Path(path): Path<ClusterPath>,
    Query(query): Query<InstallQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let text = presented_token(&headers).unwrap_or_default();
    let parts: Result<JoinTokenParts, _> = text.parse();
    let parts = parts.map_err(|_| {
        hub::Error::Unauthenticated("Send the join token of the cluster: Authorization: Bearer flj_….")
    })?;
    let split = |list: &str| -> Vec<String> {
        list.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let install = InstallOptions {
        cluster: path.cluster,
        hub: site.agent_endpoint()?.url.clone(),
        namespaces: split(&query.namespaces),
        kinds: split(&query.kinds),
        cluster_wide: query.cluster_wide,
        ..InstallOptions::default()
    };
    let presented = (parts.id, parts.secret.as_str());
    let manifest = site.hub().get_install_manifest(presented, &install, &parts.to_string()).await?;
    // The name of a cluster is a DNS label.
    let file = format!("inline; filename=\"{}-agent.yaml\"", install.cluster);
    let file = HeaderValue::from_str(&file).unwrap_or(HeaderValue::from_static("inline"));
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, file)], manifest).into_response())
}

/// The join token of a request: of the header, or of the cookie of the browser in which it was created.
fn presented_token(headers: &HeaderMap) -> Option<String> {
    if let Some(header) = headers.get(AUTHORIZATION) {
        let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned());
    }
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(Cookie::split_parse).flatten();
    cookies.find(|cookie| cookie.name() == app::JOIN_COOKIE).map(|cookie| cookie.value().to_owned())
}
