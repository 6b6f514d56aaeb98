//! Routes requests to the verbs and builds the responses.

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;

use super::request::{self, ApiRequest, client_name, content_type};
use super::{discovery, openapi, review, view, watch};
use crate::cluster::SimCluster;
use crate::decode;
use crate::object;
use crate::stats::increment;
use crate::status::{ApiResult, StatusError};
use crate::verbs::apply::PatchKind;
use crate::verbs::list::ListOptions;
use crate::verbs::{ResourcePath, WriteResult, apply, create, delete, list, subresource, update};

/// Handles one request; errors become `Status` bodies.
pub(crate) fn handle_request(
    cluster: &SimCluster,
    head: &http::request::Parts,
    body: &Bytes,
    server: Option<Receiver<bool>>,
) -> Response<Body> {
    increment(&cluster.sim.counters.bytes_in, body.len());
    match route_request(cluster, head, body, server) {
        Ok(response) => response,
        Err(refusal) => error_response(cluster, &refusal),
    }
}

fn error_response(cluster: &SimCluster, refusal: &StatusError) -> Response<Body> {
    let mut response = json_response(cluster, refusal.code, refusal.body().to_string().into());
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The response of an injected fault.
pub(crate) fn fault_response(cluster: &SimCluster, code: u16) -> Response<Body> {
    let mut refusal = match code {
        429 => StatusError::new(429, "TooManyRequests", "Too many requests, please try again later."),
        503 => StatusError::new(
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
        ),
        _ => StatusError::new(500, "InternalError", "Internal error occurred: etcdserver: leader changed"),
    };
    if code != 500 {
        refusal.retry_after = Some(1);
        refusal.details = Some(json!({"retryAfterSeconds": 1}));
    }
    error_response(cluster, &refusal)
}

fn json_response(cluster: &SimCluster, code: u16, body: Bytes) -> Response<Body> {
    body_response(cluster, code, body, "application/json")
}

fn body_response(cluster: &SimCluster, code: u16, body: Bytes, media: &'static str) -> Response<Body> {
    increment(&cluster.sim.counters.bytes_out, body.len());
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(media));
    response
}

fn route_request(
    cluster: &SimCluster,
    head: &http::request::Parts,
    body: &Bytes,
    server: Option<Receiver<bool>>,
) -> ApiResult<Response<Body>> {
    let path = head.uri.path();
    let counters = &cluster.sim.counters;
    if let Some(document) = find_document(cluster, path, request::accept_header(&head.headers))? {
        increment(&counters.gets, 1);
        let (body, media) = document;
        return Ok(body_response(cluster, 200, body, media));
    }
    if let Some(answer) = review::answer_review(&head.method, path, body)? {
        // A review stores nothing: it is a read.
        increment(&counters.gets, 1);
        return Ok(json_response(cluster, 201, answer.to_string().into()));
    }
    let request = request::parse_request(&cluster.sim, path, head.uri.query().unwrap_or(""), &head.headers)?;
    let counter = match head.method {
        Method::GET if request.params.is_true("watch") => &counters.watches,
        Method::GET if request.is_single => &counters.gets,
        Method::GET => &counters.lists,
        Method::POST => &counters.creates,
        Method::PUT => &counters.updates,
        Method::PATCH => &counters.patches,
        _ => &counters.deletes,
    };
    increment(counter, 1);
    if head.method == Method::GET && request.params.is_true("watch") {
        let stream = watch::start_watch(&cluster.sim, &request, server)?;
        let mut response = Response::new(Body::from_stream(stream));
        let media = http::HeaderValue::from_static("application/json");
        response.headers_mut().insert(http::header::CONTENT_TYPE, media);
        return Ok(response);
    }
    if !request.subresource.is_empty() && request.subresource != "status" {
        return handle_subresource(cluster, head, &request, body);
    }
    match head.method {
        Method::GET => get_or_list(cluster, &request),
        Method::DELETE => delete_objects(cluster, &request, body),
        _ => write_object(cluster, head, &request, body),
    }
}

type DocumentBody = (Bytes, &'static str);

/// Serves the paths that are not objects: health, version, discovery, OpenAPI.
fn find_document(cluster: &SimCluster, path: &str, accept: &str) -> ApiResult<Option<DocumentBody>> {
    const TEXT: &str = "text/plain; charset=utf-8";
    const JSON: &str = "application/json";
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let sim = &cluster.sim;
    let served = sim.kinds.served();
    Ok(Some(match &parts[..] {
        ["readyz" | "livez" | "healthz", ..] => (Bytes::from_static(b"ok"), TEXT),
        ["version"] => (discovery::version_document(&sim.version.lock()).to_string().into(), JSON),
        ["api" | "apis"] if accept.contains("g=apidiscovery.k8s.io") => {
            let version = if accept.contains("v=v2;") || accept.ends_with("v=v2") { "v2" } else { "v2beta1" };
            let body = discovery::aggregated_document(&served, parts[0] == "api", version);
            let media = if version == "v2" {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            } else {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            };
            (body.to_string().into(), media)
        }
        ["api"] => (discovery::core_versions_document().to_string().into(), JSON),
        ["apis"] => (discovery::groups_document(&served).to_string().into(), JSON),
        ["apis", group] => {
            let found = discovery::group_document(&served, group).ok_or_else(StatusError::path_not_found)?;
            (found.to_string().into(), JSON)
        }
        ["api", version] => (
            discovery::resources_document(&served, version)
                .ok_or_else(StatusError::path_not_found)?
                .to_string()
                .into(),
            JSON,
        ),
        ["apis", group, version] => {
            let version = format!("{group}/{version}");
            (
                discovery::resources_document(&served, &version)
                    .ok_or_else(StatusError::path_not_found)?
                    .to_string()
                    .into(),
                JSON,
            )
        }
        ["openapi", "v3"] => (openapi::index_document(&served).to_string().into(), JSON),
        ["openapi", "v3", rest @ ..] => {
            let document = openapi::group_version_document(&served, &rest[1..].join("/"))
                .ok_or_else(StatusError::path_not_found)?;
            (document.to_string().into(), JSON)
        }
        ["openapi", "v2"] if accept.contains("protobuf") && !accept.contains("application/json") => {
            (Bytes::from_static(openapi::V2_PROTOBUF), openapi::V2_PROTOBUF_MEDIA)
        }
        ["openapi", "v2"] => (openapi::v2_document(&served).to_string().into(), JSON),
        [""] => (discovery::root_document(&served).to_string().into(), JSON),
        _ => return Ok(None),
    }))
}

fn get_or_list(cluster: &SimCluster, request: &ApiRequest) -> ApiResult<Response<Body>> {
    let (sim, target) = (&cluster.sim, &request.target);
    if request.is_single {
        let found = crate::convert::convert_from_storage(&target.kind, target.version, &target.get(sim)?);
        return Ok(json_response(cluster, 200, view::object_body(target, request.form, &found)));
    }
    let page = list::list_objects(sim, target, &request.params.list_options(&target.kind)?)?;
    Ok(json_response(cluster, 200, view::list_body(target, request.form, &page)))
}

fn write_object(
    cluster: &SimCluster,
    head: &http::request::Parts,
    request: &ApiRequest,
    body: &Bytes,
) -> ApiResult<Response<Body>> {
    let (sim, target) = (&cluster.sim, &request.target);
    let write = request.params.write_options(&request.subresource, client_name(&head.headers))?;
    let done = match (&head.method, request.is_single) {
        (&Method::POST, false) => create::create_object(sim, target, parse_object(head, body)?, &write)?,
        (&Method::PUT, true) => update::replace_object(sim, target, parse_object(head, body)?, &write)?,
        (&Method::PATCH, true) => {
            let how = parse_patch_kind(head, request)?;
            apply::patch_object(sim, target, body, how, &write)?
        }
        _ => return Err(StatusError::method_not_allowed()),
    };
    if matches!(head.method, Method::PATCH)
        && content_type(&head.headers).starts_with("application/apply-patch")
    {
        increment(&sim.counters.applies, 1);
    }
    Ok(write_response(cluster, request, &done))
}

fn write_response(cluster: &SimCluster, request: &ApiRequest, done: &WriteResult) -> Response<Body> {
    let target = &request.target;
    let object = crate::convert::convert_from_storage(&target.kind, target.version, &done.object);
    let code = if done.created { 201 } else { 200 };
    let mut response = json_response(cluster, code, view::object_body(target, request.form, &object));
    for warning in &done.warnings {
        let text = format!("299 - \"{}\"", warning.replace('"', "\\\""));
        if let Ok(value) = http::HeaderValue::from_str(&text) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
    response
}

/// Parses the sent object from JSON or YAML.
fn parse_object(head: &http::request::Parts, body: &Bytes) -> ApiResult<Value> {
    match content_type(&head.headers) {
        "" | "application/json" => decode::parse_body(body, false),
        "application/yaml" | "application/apply-patch+yaml" => decode::parse_body(body, true),
        _ => Err(StatusError::unsupported_media_type("application/json, application/yaml")),
    }
}

fn parse_patch_kind(head: &http::request::Parts, request: &ApiRequest) -> ApiResult<PatchKind> {
    match content_type(&head.headers) {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" => {
            if request.params.get("fieldManager").is_empty() {
                let message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required \
                    for apply patch";
                return Err(StatusError::new(422, "Invalid", message));
            }
            Ok(PatchKind::Apply { force: request.params.is_true("force") })
        }
        _ => Err(StatusError::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, \
             application/apply-patch+yaml",
        )),
    }
}

fn delete_objects(cluster: &SimCluster, request: &ApiRequest, body: &Bytes) -> ApiResult<Response<Body>> {
    let (sim, target) = (&cluster.sim, &request.target);
    let mut options = if body.is_empty() { json!({}) } else { decode::parse_body(body, true)? };
    for key in ["propagationPolicy", "gracePeriodSeconds", "orphanDependents"] {
        let value = request.params.get(key);
        if !value.is_empty() {
            options[key] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        }
    }
    let dry_run = request.params.get("dryRun") == "All" || !object::array_at(&options, "dryRun").is_empty();
    if request.is_single {
        let deleted = delete::delete_object(sim, target, &options, dry_run)?;
        return Ok(json_response(cluster, 200, deleted.body(&target.kind).to_string().into()));
    }
    let query = ListOptions { limit: 0, ..request.params.list_options(&target.kind)? };
    let page = list::list_objects(sim, target, &query)?;
    for item in &page.items {
        let one = ResourcePath {
            namespace: object::namespace(&item.value).to_owned(),
            name: object::name(&item.value).to_owned(),
            ..target.clone()
        };
        match delete::delete_object(sim, &one, &options, dry_run) {
            Err(refusal) if refusal.code != 404 => return Err(refusal),
            _ => {}
        }
    }
    Ok(json_response(cluster, 200, view::list_body(target, request.form, &page)))
}

fn handle_subresource(
    cluster: &SimCluster,
    head: &http::request::Parts,
    request: &ApiRequest,
    body: &Bytes,
) -> ApiResult<Response<Body>> {
    let (sim, target) = (&cluster.sim, &request.target);
    let write = request.params.write_options(&request.subresource, client_name(&head.headers))?;
    let value = match (&*request.subresource, &head.method) {
        ("scale", &Method::GET) => subresource::get_scale(sim, target)?,
        ("scale", &Method::PUT | &Method::PATCH) => {
            let media = content_type(&head.headers).to_owned();
            subresource::update_scale(sim, target, &write, |scale| {
                match &*media {
                    "application/json-patch+json" => {
                        crate::patch::apply_json_patch(&target.kind, &target.name, scale, body)?
                    }
                    "application/json" | "" => *scale = decode::parse_body(body, false)?,
                    _ => crate::patch::apply_merge_patch(scale, &decode::parse_body(body, true)?),
                }
                Ok(())
            })?
        }
        ("eviction", &Method::POST) => subresource::evict_pod(sim, target, &parse_object(head, body)?)?,
        ("binding", &Method::POST) => subresource::bind_pod(sim, target, &parse_object(head, body)?, &write)?,
        ("log", &Method::GET) => {
            let pod = target.get(sim)?;
            let text = crate::controllers::pod::container_log(&pod.value, request.params.get("container"));
            return Ok(body_response(cluster, 200, text.into(), "text/plain"));
        }
        ("finalize", &Method::PUT) => {
            let value = parse_object(head, body)?;
            let finalizers = object::value_at(&value, "spec.finalizers").cloned();
            let done = update::edit_object(sim, target, &write, |namespace| {
                object::set_value(
                    namespace,
                    "spec.finalizers",
                    finalizers.clone().unwrap_or_else(|| json!([])),
                );
                Ok(())
            })?;
            done.value.clone()
        }
        ("ephemeralcontainers" | "approval", &Method::GET) => target.get(sim)?.value.clone(),
        _ => return Err(StatusError::method_not_allowed()),
    };
    let created = matches!(&*request.subresource, "eviction" | "binding");
    Ok(json_response(cluster, if created { 201 } else { 200 }, value.to_string().into()))
}
