//! The REST API under `/api/v1`: one operation, one file. The document at `/api/v1/openapi.json` is made from the handlers.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::colon;
use crate::problem::Refusal;
use crate::router::LARGEST_BODY;
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
        description = "Publishes Kubernetes workloads to many clusters and keeps them there.\n\nEvery refusal is \
            `application/problem+json` (RFC 9457) with a `code` and, for wrong input, `findings`. A thing's revision is \
            its `ETag`; send it back as `If-Match`. A POST with an `Idempotency-Key` is carried out once, however often \
            it is sent."
    ),
    security(("token" = [])),
    components(schemas(wire::Problem, wire::Change))
)]
struct Document;

/// The API's routes and its document.
pub fn build(site: &Site) -> (Router<Site>, OpenApi) {
    let (router, inside) = table(site).split_for_parts();
    let openapi = as_written_outside(inside);
    let text = serde_json::to_vec(&openapi).unwrap_or_default();
    let document = move || {
        let text = text.clone();
        async move { ([(axum::http::header::CONTENT_TYPE, "application/json")], text) }
    };
    let router = router
        .route("/api/v1/openapi.json", axum::routing::get(document))
        .route("/api/v1/{*rest}", axum::routing::any(nothing_here))
        .method_not_allowed_fallback(wrong_method);
    (router, openapi)
}

/// Every operation.
fn table(site: &Site) -> OpenApiRouter<Site> {
    let table = OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(workload::list::handler))
        .routes(large(routes!(workload::create::handler)))
        .routes(large(routes!(workload::validate::handler)))
        .routes(routes!(workload::get::handler))
        .routes(large(routes!(workload::put::handler)))
        .routes(routes!(workload::patch::handler))
        .routes(routes!(workload::delete::handler))
        .routes(routes!(plan::make::handler))
        .routes(routes!(plan::get::handler))
        .routes(routes!(workload::publish::handler))
        .routes(routes!(workload::restore::handler))
        .routes(routes!(workload::unpublish::handler))
        .routes(routes!(workload::sync::handler))
        .routes(routes!(workload::keep::handler))
        .routes(routes!(rollout::get::handler))
        .routes(routes!(rollout::steer::handler))
        .routes(routes!(workload::status::handler))
        .routes(routes!(workload::revisions::handler))
        .routes(routes!(workload::revision::handler))
        .routes(routes!(release::list::handler))
        .routes(routes!(release::get::handler))
        .route(release::ONE, release::system_owned())
        .routes(large(routes!(overrides::put::handler)))
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
        .routes(large(routes!(group::create::handler)))
        .routes(routes!(group::get::handler))
        .routes(large(routes!(group::put::handler)))
        .routes(routes!(group::delete::handler))
        .routes(routes!(fleet::handler))
        .routes(routes!(event::list::handler))
        .routes(routes!(token::list::handler))
        .routes(routes!(token::create::handler))
        .routes(routes!(token::delete::handler))
        .routes(routes!(watch::handler));
    match site.demo() {
        Some(_) => table.routes(routes!(cluster::break_demo::handler)),
        None => table,
    }
}

/// The same routes, for bodies that carry a source.
fn large(routes: UtoipaMethodRouter<Site>) -> UtoipaMethodRouter<Site> {
    let (schemas, paths, methods) = routes;
    (schemas, paths, methods.layer(DefaultBodyLimit::max(LARGEST_BODY)))
}

fn as_written_outside(mut openapi: OpenApi) -> OpenApi {
    let paths = std::mem::take(&mut openapi.paths.paths);
    openapi.paths.paths = paths.into_iter().map(|(path, item)| (colon::outside(&path), item)).collect();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("flt_…").build();
    if let Some(components) = &mut openapi.components {
        components.security_schemes.insert("token".to_owned(), SecurityScheme::Http(bearer).into());
    }
    openapi
}

/// Every operation of the document with its method.
pub fn routes(openapi: &OpenApi) -> Vec<(Method, String)> {
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

async fn nothing_here() -> Refusal {
    Refusal::of_status(axum::http::StatusCode::NOT_FOUND)
}

async fn wrong_method() -> Response {
    Refusal::of_status(axum::http::StatusCode::METHOD_NOT_ALLOWED).into_response()
}
