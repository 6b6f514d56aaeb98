//! The REST API under `/api/v1`: one operation, one file. `/api/v1/openapi.json` is generated from the handlers.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::custom_verb;
use crate::problem::ApiError;
use crate::router::MAX_BODY_BYTES;
use crate::site::Site;

pub mod cluster;
pub mod event;
pub mod fleet;
pub mod group;
pub mod join_token;
pub mod overrides;
pub mod placement;
pub mod plan;
pub mod registration;
pub mod release;
pub mod rollout;
pub mod token;
pub mod watch;
pub mod workload;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Flotilla",
        description = "Publishes Kubernetes workloads to many clusters and keeps them in their desired state.\n\nEvery error is \
            `application/problem+json` (RFC 9457) with a `code` and, for invalid input, `findings`. The revision of an \
            object is its `ETag`; send it back as `If-Match`. A write with an `Idempotency-Key` is executed once, \
            however often it is sent."
    ),
    security(("token" = [])),
    components(schemas(wire::Problem, wire::ChangeNotice))
)]
struct ApiDocument;

/// The API's router and its OpenAPI document.
pub fn build_api(site: &Site) -> (Router<Site>, OpenApi) {
    let (router, inside) = register_operations(site).split_for_parts();
    let openapi = with_public_paths(inside);
    let text = serde_json::to_vec(&openapi).unwrap_or_default();
    let document = move || {
        let text = text.clone();
        async move { ([(axum::http::header::CONTENT_TYPE, "application/json")], text) }
    };
    let router = router
        .route("/api/v1/openapi.json", axum::routing::get(document))
        .route("/api/v1/{*rest}", axum::routing::any(not_found))
        .method_not_allowed_fallback(method_not_allowed);
    (router, openapi)
}

/// Every operation.
fn register_operations(site: &Site) -> OpenApiRouter<Site> {
    let table = OpenApiRouter::with_openapi(ApiDocument::openapi())
        .routes(routes!(workload::list::handler))
        .routes(with_large_body(routes!(workload::create::handler)))
        .routes(with_large_body(routes!(workload::validate::handler)))
        .routes(routes!(workload::get::handler))
        .routes(with_large_body(routes!(workload::put::handler)))
        .routes(routes!(workload::patch::handler))
        .routes(routes!(workload::delete::handler))
        .routes(routes!(plan::create::handler))
        .routes(routes!(plan::get::handler))
        .routes(routes!(workload::publish::handler))
        .routes(routes!(workload::restore::handler))
        .routes(routes!(workload::unpublish::handler))
        .routes(routes!(workload::sync::handler))
        .routes(routes!(workload::retain::handler))
        .routes(routes!(rollout::get::handler))
        .routes(routes!(rollout::control::handler))
        .routes(routes!(workload::status::handler))
        .routes(routes!(workload::revisions::handler))
        .routes(routes!(workload::revision::handler))
        .routes(routes!(release::list::handler))
        .routes(routes!(release::get::handler))
        .route(release::RELEASE_PATH, release::reject_writes())
        .routes(with_large_body(routes!(overrides::put::handler)))
        .routes(routes!(overrides::delete::handler))
        .routes(routes!(placement::decision::handler))
        .routes(routes!(placement::preview::handler))
        .routes(routes!(cluster::list::handler))
        .routes(routes!(cluster::get::handler))
        .routes(routes!(cluster::patch::handler))
        .routes(routes!(cluster::releases::handler))
        .routes(routes!(cluster::delete::handler))
        .routes(routes!(cluster::accept::handler))
        .routes(routes!(cluster::reject::handler))
        .routes(routes!(cluster::revoke::handler))
        .routes(routes!(cluster::install::handler))
        .routes(routes!(join_token::list::handler))
        .routes(routes!(join_token::create::handler))
        .routes(routes!(join_token::delete::handler))
        .routes(routes!(registration::list::handler))
        .routes(routes!(group::list::handler))
        .routes(with_large_body(routes!(group::create::handler)))
        .routes(routes!(group::get::handler))
        .routes(with_large_body(routes!(group::put::handler)))
        .routes(routes!(group::delete::handler))
        .routes(routes!(fleet::handler))
        .routes(routes!(event::list::handler))
        .routes(routes!(token::list::handler))
        .routes(routes!(token::create::handler))
        .routes(routes!(token::delete::handler))
        .routes(routes!(watch::handler));
    match site.fault_controls() {
        Some(_) => table.routes(routes!(cluster::inject_fault::handler)),
        None => table,
    }
}

/// The same routes with a body limit large enough for a workload's source.
fn with_large_body(routes: UtoipaMethodRouter<Site>) -> UtoipaMethodRouter<Site> {
    let (schemas, paths, methods) = routes;
    (schemas, paths, methods.layer(DefaultBodyLimit::max(MAX_BODY_BYTES)))
}

fn with_public_paths(mut openapi: OpenApi) -> OpenApi {
    let paths = std::mem::take(&mut openapi.paths.paths);
    openapi.paths.paths =
        paths.into_iter().map(|(path, item)| (custom_verb::to_public_path(&path), item)).collect();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("flt_…").build();
    if let Some(components) = &mut openapi.components {
        components.security_schemes.insert("token".to_owned(), SecurityScheme::Http(bearer).into());
    }
    openapi
}

/// Method and path of every operation of the document.
pub fn list_routes(openapi: &OpenApi) -> Vec<(Method, String)> {
    let mut routes = vec![(Method::GET, "/api/v1/openapi.json".to_owned())];
    for (path, item) in &openapi.paths.paths {
        let operations = [
            (Method::GET, &item.get),
            (Method::POST, &item.post),
            (Method::PUT, &item.put),
            (Method::PATCH, &item.patch),
            (Method::DELETE, &item.delete),
        ];
        let present = operations.into_iter().filter(|(_, operation)| operation.is_some());
        routes.extend(present.map(|(method, _)| (method, path.clone())));
    }
    routes
}

async fn not_found() -> ApiError {
    ApiError::from_status(axum::http::StatusCode::NOT_FOUND)
}

async fn method_not_allowed() -> Response {
    ApiError::from_status(axum::http::StatusCode::METHOD_NOT_ALLOWED).into_response()
}
