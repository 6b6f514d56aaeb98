//! The query parameters of every operation of the REST API, by its OpenAPI document. Any other is rejected: ignored, a misspelt filter
//! would list everything, and a misspelt `dryRun` would write.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use domain::nearest::find_nearest;
use utoipa::openapi::OpenApi;

use crate::api;
use crate::custom_verb::to_public_path;
use crate::encoded_text::decode_name;
use crate::problem::ApiError;

/// The names of the query parameters of every operation, by method and public path.
#[derive(Debug)]
pub struct QueryParameters(HashMap<(Method, String), Vec<String>>);

impl QueryParameters {
    /// Those of a document.
    pub fn new(openapi: &OpenApi) -> Self {
        let none = api::list_routes(openapi).into_iter().map(|route| (route, Vec::new()));
        Self(none.chain(api::list_query_parameters(openapi)).collect())
    }

    /// Checks a query of an operation; of a path that is none, nothing is known.
    ///
    /// # Errors
    /// It has a parameter that the operation does not have.
    fn check(&self, method: &Method, path: &str, query: &str) -> Result<(), ApiError> {
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        let Some(known) = self.0.get(&(method, path.to_owned())) else { return Ok(()) };
        let mut names = query.split('&').filter(|pair| !pair.is_empty()).map(decode_name);
        let unknown = names.find(|name| !known.contains(name));
        unknown.map_or(Ok(()), |name| Err(ApiError::bad_request(describe_unknown(&name, known))))
    }
}

fn describe_unknown(name: &str, known: &[String]) -> String {
    let names = || known.iter().map(String::as_str);
    let same = names().find(|known| known.eq_ignore_ascii_case(name));
    let nearest = same.or_else(|| find_nearest(name, names()));
    let meant = nearest.map(|nearest| format!(" Did you mean {nearest:?}?")).unwrap_or_default();
    let listed = match known {
        [] => "This operation has no query parameters.".to_owned(),
        known => format!("The parameters of this operation are {}.", known.join(", ")),
    };
    format!("There is no query parameter {name:?}.{meant} {listed}")
}

/// Middleware: rejects a request of the REST API with an unknown query parameter, before it is executed.
pub async fn reject_unknown(
    State(parameters): State<Arc<QueryParameters>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| to_public_path(path.as_str()));
    let query = request.uri().query().filter(|query| !query.is_empty());
    if let (Some(path), Some(query)) = (path, query)
        && let Err(refusal) = parameters.check(request.method(), &path, query)
    {
        return refusal.into_response();
    }
    next.run(request).await
}
