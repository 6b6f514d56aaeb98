//! What requests bring: bodies, queries and names in the address, each refused as a problem when it can't be read.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use domain::page::{ListQuery, MAX_LIMIT};
use domain::release::State;
use hub::Actor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::problem::Refusal;

/// The only project there is so far; another one is not found.
pub const PROJECT: &str = "default";

/// A JSON body.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        match axum::Json::from_request(request, state).await {
            Ok(axum::Json(value)) => Ok(Self(value)),
            Err(rejection) => Err(unreadable(&rejection)),
        }
    }
}

fn unreadable(rejection: &JsonRejection) -> Refusal {
    match rejection.status() {
        // Fields of the wrong shape are as unreadable as broken JSON: 422 is kept for what guard rails find.
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::BAD_REQUEST => {
            let why = crate::problem::chain(rejection);
            Refusal::bad_request(format!("The body could not be read: {}", clipped(&why)))
        }
        status => Refusal::of_status(status),
    }
}

/// A message that may repeat what was sent, kept short.
fn clipped(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// A query.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(bad_query(&rejection)),
        }
    }
}

fn bad_query(rejection: &QueryRejection) -> Refusal {
    let why = crate::problem::chain(rejection);
    Refusal::bad_request(format!("The query could not be read: {}", clipped(&why)))
}

/// Names in the address, within the project if one is named.
#[derive(Debug)]
pub struct At<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let names = RawPathParams::from_request_parts(parts, state).await;
        let names = names.map_err(|_| Refusal::bad_request("The address is not UTF-8."))?;
        if let Some((_, other)) = names.iter().find(|(key, value)| *key == "project" && *value != PROJECT) {
            return Err(hub::Error::not_found("project", clipped(other)).into());
        }
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(bad_path(&rejection)),
        }
    }
}

fn bad_path(rejection: &PathRejection) -> Refusal {
    Refusal::bad_request(format!("The address could not be read: {}", clipped(&rejection.body_text())))
}

/// The project alone.
#[derive(Debug, Deserialize)]
pub struct InProject {}

/// A workload.
#[derive(Debug, Deserialize)]
pub struct OfWorkload {
    /// Its name.
    pub workload: String,
}

/// A revision of a workload.
#[derive(Debug, Deserialize)]
pub struct OfRevision {
    /// Name of the workload.
    pub workload: String,
    /// Number of the revision.
    pub revision: u32,
}

/// A cluster.
#[derive(Debug, Deserialize)]
pub struct OfCluster {
    /// Its name.
    pub cluster: String,
}

/// Who asks; put there by [`crate::access`].
#[derive(Debug)]
pub struct Caller(pub Actor);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let actor = parts.extensions.get::<Actor>().cloned();
        actor.map(Self).ok_or_else(|| hub::Error::Unauthenticated("Sign in, or send an API token.").into())
    }
}

/// What to list and where to begin.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// At most this many items, 1 to 500; 50 when nothing is said.
    pub limit: Option<u32>,
    /// Where the previous page ended: its `next`.
    pub cursor: Option<String>,
    /// Only names that contain this.
    pub q: Option<String>,
    /// Only what has a release in one of these states, comma-separated, such as `Failed,Degraded`.
    pub state: Option<String>,
    /// Only what has these labels, in the grammar of `kubectl -l`.
    pub label_selector: Option<String>,
}

impl ListParams {
    /// The question for the hub; unknown words are refused rather than left out, for then the list would be of everything.
    pub fn checked(self) -> Result<ListQuery, Refusal> {
        if self.limit.is_some_and(|limit| limit == 0 || limit > MAX_LIMIT) {
            return Err(Refusal::bad_request(format!("limit must be 1 to {MAX_LIMIT}.")));
        }
        let state = self.state.unwrap_or_default();
        let unknown = |word: &&str| !word.is_empty() && State::from_word(word).is_none();
        if let Some(word) = state.split(',').map(str::trim).find(unknown) {
            return Err(Refusal::bad_request(format!(
                "{:?} is no state; try Healthy or Failed.",
                clipped(word)
            )));
        }
        Ok(ListQuery {
            limit: self.limit,
            cursor: self.cursor,
            q: self.q.unwrap_or_default(),
            state,
            label_selector: self.label_selector.unwrap_or_default(),
        })
    }
}

/// Whether only to say what would happen.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DryRun {
    /// `true`: give findings and the placement decision, store nothing.
    #[param(required = false)]
    pub dry_run: bool,
}

/// Adds `next` as a link, so that a client can page without knowing how.
pub fn paged<T: Serialize>(
    page: domain::page::Page<T>,
    uri: &axum::http::Uri,
) -> (axum::http::HeaderMap, axum::Json<domain::page::Page<T>>) {
    let mut headers = axum::http::HeaderMap::new();
    if let Some(link) = page.next.as_deref().and_then(|cursor| next_link(uri, cursor)) {
        headers.insert(axum::http::header::LINK, link);
    }
    (headers, axum::Json(page))
}

fn next_link(uri: &axum::http::Uri, cursor: &str) -> Option<axum::http::HeaderValue> {
    let escaped = percent_encoding::utf8_percent_encode(cursor, percent_encoding::NON_ALPHANUMERIC);
    let others = uri.query().unwrap_or_default().split('&');
    let others = others.filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let query: String = others.fold(String::new(), |all, pair| format!("{all}{pair}&"));
    format!("<{}?{query}cursor={escaped}>; rel=\"next\"", uri.path()).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_to_the_next_page_keeps_the_filter_and_replaces_the_cursor() {
        let uri = "/api/v1/clusters?limit=2&cursor=old&q=eu".parse().unwrap();
        let link = next_link(&uri, "a/b=").unwrap();
        assert_eq!(link, "</api/v1/clusters?limit=2&q=eu&cursor=a%2Fb%3D>; rel=\"next\"");
    }

    #[test]
    fn an_unknown_state_is_refused_instead_of_listing_everything() {
        let params = ListParams { state: Some("Failed,Helthy".to_owned()), ..ListParams::default() };
        assert_eq!(params.checked().unwrap_err().status(), StatusCode::BAD_REQUEST);
    }
}
