//! The REST API under `/api/v1`: one operation, one file. The attribute of its handler declares method, path and results;
//! the router, `/api/v1/openapi.json`, the operation ids and the custom verbs derive from it.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::problem::ApiError;
use crate::router::MAX_BODY_BYTES;
use crate::site::Site;

pub mod audit;
pub mod auth;
pub mod channel;
pub mod chart;
pub mod chart_repository;
pub mod cluster;
pub mod cluster_group;
pub mod deployment;
mod document;
pub mod drift;
pub mod event;
pub mod fleet;
pub mod git_repository;
pub mod group;
pub mod identity_provider;
pub mod incident;
pub mod join_token;
pub mod operation;
pub mod overrides;
pub mod placement;
pub mod plan;
pub mod project;
pub mod registration;
pub mod release;
pub mod rollout;
pub mod search;
pub mod server_status;
pub mod session;
pub mod subscription;
pub mod token;
pub mod user;
pub mod watch;
pub mod workload;

pub use document::{list_operation_ids, list_query_parameters, list_routes};

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Flotilla",
        description = "Publishes Kubernetes workloads to many clusters and keeps them in their desired state.\n\nEvery error is \
            `application/problem+json` (RFC 9457) with a `code` and, for invalid input, `findings`. The revision of an \
            object is its `ETag`; send it back as `If-Match`. A deletion of what is gone is a 404, whatever `If-Match` \
            says. A write with an `Idempotency-Key` is executed once, however often it is sent. An unknown field of a \
            body or parameter of a query is a 400 that names it."
    ),
    security(("token" = [])),
    components(schemas(wire::Problem, wire::ChangeNotice))
)]
struct ApiDocument;

/// The API's router, its OpenAPI document and its custom verbs.
pub fn build_api(site: &Site) -> (Router<Site>, OpenApi, BTreeSet<String>) {
    let (router, inside) = register_operations(site).split_for_parts();
    let verbs = document::list_verbs(&inside);
    let openapi = document::complete_document(inside);
    let text = serde_json::to_vec(&openapi).unwrap_or_default();
    let document = move || {
        let text = text.clone();
        async move { ([(axum::http::header::CONTENT_TYPE, "application/json")], text) }
    };
    let router = router
        .route("/api/v1/openapi.json", axum::routing::get(document))
        .route("/api/v1/{*rest}", axum::routing::any(not_found))
        .method_not_allowed_fallback(method_not_allowed);
    (router, openapi, verbs)
}

/// Every operation.
fn register_operations(site: &Site) -> OpenApiRouter<Site> {
    let table = register_workload_operations(OpenApiRouter::with_openapi(ApiDocument::openapi()))
        .routes(routes!(chart::list::list_charts))
        .routes(with_large_body(routes!(chart::upload::upload_chart)))
        .routes(routes!(chart::get::get_chart))
        .routes(routes!(chart::delete::delete_chart))
        .routes(routes!(chart::search::search_charts))
        .routes(routes!(chart::versions::list_chart_versions))
        .routes(routes!(placement::decision::get_placement_decision))
        .routes(routes!(placement::preview::preview_placement))
        .routes(routes!(cluster::list::list_clusters))
        .routes(routes!(cluster::get::get_cluster))
        .routes(routes!(cluster::patch::patch_cluster))
        .routes(routes!(cluster::preview::preview_cluster))
        .routes(routes!(cluster::releases::list_cluster_releases))
        .routes(routes!(cluster::delete::delete_cluster))
        .routes(routes!(cluster::accept::accept_cluster))
        .routes(routes!(cluster::confirm_facts::confirm_facts))
        .routes(routes!(cluster::reject::reject_cluster))
        .routes(routes!(cluster::revoke::revoke_cluster))
        .routes(routes!(cluster::helm_release::read_helm_release))
        .routes(routes!(cluster::helm_release::adopt_helm_release))
        .routes(routes!(cluster::install::create_install_manifest))
        .routes(routes!(cluster::onboarding::get_onboarding))
        .routes(routes!(join_token::list::list_join_tokens))
        .routes(routes!(join_token::create::create_join_token))
        .routes(routes!(join_token::delete::revoke_join_token))
        .routes(routes!(registration::list::list_registrations))
        .routes(routes!(group::list::list_groups))
        .routes(with_large_body(routes!(group::create::create_group)))
        .routes(routes!(group::get::get_group))
        .routes(with_large_body(routes!(group::put::put_group)))
        .routes(with_large_body(routes!(group::preview::preview_group)))
        .routes(routes!(group::delete::delete_group))
        .routes(routes!(project::get::get_project))
        .routes(with_large_body(routes!(project::put::put_project)))
        .routes(routes!(operation::list::list_operations))
        .routes(routes!(operation::get::get_operation))
        .routes(routes!(fleet::get_fleet))
        .routes(routes!(search::search))
        .routes(routes!(event::list::list_events))
        .routes(routes!(token::list::list_tokens))
        .routes(routes!(token::create::create_token))
        .routes(routes!(token::delete::delete_token))
        .routes(routes!(server_status::get_server_status))
        .routes(routes!(session::list::list_sessions))
        .routes(routes!(session::revoke::revoke_session))
        .routes(routes!(session::revoke_all::revoke_sessions))
        .routes(routes!(auth::can_i))
        .routes(routes!(watch::watch_changes));
    let table = register_suspensions(table);
    let table = register_users(table);
    let table = register_audit(table);
    let table = register_incidents(table);
    let table = register_drift(table);
    let table = register_repositories(table);
    let table = register_git_operations(table);
    let table = register_deployment_operations(table);
    match site.fault_controls() {
        Some(_) => table.routes(routes!(cluster::inject_fault::inject_fault)),
        None => table,
    }
}

/// The operations on workloads, their plans, rollouts, releases and overrides.
fn register_workload_operations(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(workload::list::list_workloads))
        .routes(with_large_body(routes!(workload::create::create_workload)))
        .routes(with_large_body(routes!(workload::validate::validate_workload)))
        .routes(routes!(workload::get::get_workload))
        .routes(with_large_body(routes!(workload::put::put_workload)))
        .routes(routes!(workload::patch::patch_workload))
        .routes(routes!(workload::delete::delete_workload))
        .routes(routes!(plan::create::plan_workload))
        .routes(routes!(plan::get::get_plan))
        .routes(routes!(workload::publish::publish_workload))
        .routes(routes!(workload::restore::restore_revision))
        .routes(routes!(workload::unwrap_chart::preview_unwrapping))
        .routes(routes!(workload::unwrap_chart::unwrap_chart))
        .routes(routes!(workload::unpublish::unpublish_workload))
        .routes(routes!(workload::sync::sync_workload))
        .routes(routes!(workload::retain::retain_workload))
        .routes(routes!(rollout::get::get_rollout))
        .routes(routes!(rollout::clusters::list_rollout_clusters))
        .routes(routes!(rollout::report::report_rollout))
        .routes(routes!(rollout::control::control_rollout))
        .routes(routes!(workload::status::get_workload_status))
        .routes(routes!(workload::revisions::list_revisions))
        .routes(routes!(workload::revision::get_revision))
        .routes(routes!(release::list::list_releases))
        .routes(routes!(release::get::get_release))
        .routes(routes!(overrides::list::list_overrides))
        .routes(routes!(overrides::get::get_override))
        .routes(with_large_body(routes!(overrides::put::put_override)))
        .routes(routes!(overrides::delete::delete_override))
        .routes(routes!(workload::values::get_values))
        .routes(routes!(workload::render::render_workload))
}

/// The operations on suspensions of workloads and clusters.
fn register_suspensions(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(workload::suspend::suspend_workload))
        .routes(routes!(workload::resume::resume_workload))
        .routes(routes!(workload::suspension::get_workload_suspension))
        .routes(routes!(cluster::suspend::suspend_cluster))
        .routes(routes!(cluster::resume::resume_cluster))
        .routes(routes!(cluster::suspension::get_cluster_suspension))
}

/// The operations on incidents, channels and subscriptions.
fn register_incidents(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(incident::list::list_incidents))
        .routes(routes!(incident::get::get_incident))
        .routes(routes!(incident::acknowledge::acknowledge_incident))
        .routes(routes!(channel::list::list_channels))
        .routes(routes!(channel::create::create_channel))
        .routes(routes!(channel::get::get_channel))
        .routes(routes!(channel::delete::delete_channel))
        .routes(routes!(channel::test::test_channel))
        .routes(routes!(channel::set_template::set_channel_template))
        .routes(routes!(channel::preview::preview_channel_template))
        .routes(routes!(subscription::list::list_subscriptions))
        .routes(routes!(subscription::create::create_subscription))
        .routes(routes!(subscription::delete::delete_subscription))
}

/// The operations on the drift inbox.
fn register_drift(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(drift::list::list_drift))
        .routes(routes!(drift::get::get_drift))
        .routes(routes!(drift::revert::revert_drift))
        .routes(routes!(drift::revert_fields::revert_drift_fields))
        .routes(routes!(drift::adopt::adopt_drift))
        .routes(routes!(drift::ignore::ignore_drift))
        .routes(routes!(drift::snooze::snooze_drift))
}

/// The operations on users and identity providers.
fn register_users(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(user::list::list_users))
        .routes(routes!(user::invite::invite_user))
        .routes(routes!(user::set_role::set_user_role))
        .routes(routes!(user::elevation::elevate_user))
        .routes(routes!(user::elevation::end_elevation))
        .routes(routes!(user::reset_password::reset_password))
        .routes(routes!(user::disable::disable_user))
        .routes(routes!(user::enable::enable_user))
        .routes(routes!(user::list_sessions::list_user_sessions))
        .routes(routes!(user::revoke_sessions::revoke_user_sessions))
        .routes(routes!(user::revoke_session::revoke_user_session))
        .routes(routes!(user::list_tokens::list_user_tokens))
        .routes(routes!(user::delete_token::delete_user_token))
        .routes(routes!(user::change_password::change_password))
        .routes(routes!(user::identity::get_user_identity))
        .routes(routes!(identity_provider::list::list_identity_providers))
        .routes(routes!(identity_provider::get::get_identity_provider))
        .routes(routes!(identity_provider::put::put_identity_provider))
        .routes(routes!(identity_provider::delete::delete_identity_provider))
        .routes(routes!(identity_provider::test::test_identity_provider))
}

/// The operations on the audit log.
fn register_audit(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(audit::list::list_audit))
        .routes(routes!(audit::export::export_audit))
        .routes(routes!(audit::verify::verify_audit))
}

/// The operations on repositories of charts.
fn register_repositories(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(chart_repository::list::list_chart_repositories))
        .routes(routes!(chart_repository::create::create_chart_repository))
        .routes(routes!(chart_repository::get::get_chart_repository))
        .routes(routes!(chart_repository::put::put_chart_repository))
        .routes(routes!(chart_repository::delete::delete_chart_repository))
        .routes(routes!(chart_repository::refresh::refresh_chart_repository))
}

/// The operations on Git repositories and Git sources.
fn register_git_operations(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    let (schemas, paths, webhook) = routes!(git_repository::webhook::receive_git_webhook);
    let limit = DefaultBodyLimit::max(git_repository::webhook::MAX_WEBHOOK_BYTES);
    table
        .routes(routes!(git_repository::list::list_git_repositories))
        .routes(routes!(git_repository::get::get_git_repository))
        .routes(routes!(git_repository::put::put_git_repository))
        .routes(routes!(git_repository::delete::delete_git_repository))
        .routes((schemas, paths, webhook.layer(limit)))
        .routes(routes!(workload::git::get_git_source))
        .routes(routes!(workload::check_git::check_git_source))
}

/// The operations of the multi-cluster deployment API.
fn register_deployment_operations(table: OpenApiRouter<Site>) -> OpenApiRouter<Site> {
    table
        .routes(routes!(cluster_group::list::list_cluster_groups))
        .routes(with_large_body(routes!(cluster_group::create::create_cluster_group)))
        .routes(routes!(cluster_group::get::get_cluster_group))
        .routes(with_large_body(routes!(cluster_group::update::update_cluster_group)))
        .routes(routes!(cluster_group::delete::delete_cluster_group))
        .routes(routes!(cluster_group::list_features::list_group_features))
        .routes(routes!(cluster_group::get_feature::get_group_feature))
        .routes(routes!(cluster_group::enable_feature::enable_group_feature))
        .routes(routes!(cluster_group::update_feature::update_group_feature))
        .routes(routes!(cluster_group::disable_feature::disable_group_feature))
        .routes(routes!(deployment::list::list_deployments))
        .routes(with_large_body(routes!(deployment::create::create_deployment)))
        .routes(routes!(deployment::get::get_deployment))
        .routes(with_large_body(routes!(deployment::update::update_deployment)))
        .routes(routes!(deployment::sync::sync_deployment))
        .routes(routes!(deployment::delete::delete_deployment))
}

/// The same routes with a body limit large enough for a workload's source.
fn with_large_body(routes: UtoipaMethodRouter<Site>) -> UtoipaMethodRouter<Site> {
    let (schemas, paths, methods) = routes;
    (schemas, paths, methods.layer(DefaultBodyLimit::max(MAX_BODY_BYTES)))
}

async fn not_found() -> ApiError {
    ApiError::from_status(StatusCode::NOT_FOUND)
}

async fn method_not_allowed(request: Request) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let owned = path.and_then(|path| release::reject_write(request.method(), path));
    owned.unwrap_or_else(|| ApiError::from_status(StatusCode::METHOD_NOT_ALLOWED)).into_response()
}
