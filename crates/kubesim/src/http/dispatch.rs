//! From a request to an answer.

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;

use super::request::{self, Asked, agent, content_type};
use super::{discovery, openapi, view, watch};
use crate::cluster::Cluster;
use crate::decode;
use crate::object;
use crate::stats::add;
use crate::status::{Answer, Refusal};
use crate::verbs::apply::PatchKind;
use crate::verbs::list::Query;
use crate::verbs::{Done, Target, apply, create, delete, list, subresource, update};

/// Answers one request; refusals become `Status` bodies.
pub(crate) fn answer(
    cluster: &Cluster,
    head: &http::request::Parts,
    body: &Bytes,
    server: Option<Receiver<bool>>,
) -> Response<Body> {
    add(&cluster.sim.counters.bytes_in, body.len());
    match route(cluster, head, body, server) {
        Ok(response) => response,
        Err(refusal) => refuse(cluster, &refusal),
    }
}

fn refuse(cluster: &Cluster, refusal: &Refusal) -> Response<Body> {
    let mut response = json(cluster, refusal.code, refusal.body().to_string().into());
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The answer of a switched-on fault.
pub(crate) fn fault(cluster: &Cluster, code: u16) -> Response<Body> {
    let mut refusal = match code {
        429 => Refusal::new(429, "TooManyRequests", "Too many requests, please try again later."),
        503 => {
            Refusal::new(503, "ServiceUnavailable", "the server is currently unable to handle the request")
        }
        _ => Refusal::new(500, "InternalError", "Internal error occurred: etcdserver: leader changed"),
    };
    if code != 500 {
        refusal.retry_after = Some(1);
        refusal.details = Some(json!({"retryAfterSeconds": 1}));
    }
    refuse(cluster, &refusal)
}

fn json(cluster: &Cluster, code: u16, body: Bytes) -> Response<Body> {
    typed(cluster, code, body, "application/json")
}

fn typed(cluster: &Cluster, code: u16, body: Bytes, media: &'static str) -> Response<Body> {
    add(&cluster.sim.counters.bytes_out, body.len());
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(media));
    response
}

fn route(
    cluster: &Cluster,
    head: &http::request::Parts,
    body: &Bytes,
    server: Option<Receiver<bool>>,
) -> Answer<Response<Body>> {
    let path = head.uri.path();
    let counters = &cluster.sim.counters;
    if let Some(document) = document(cluster, path, request::accept(&head.headers))? {
        add(&counters.gets, 1);
        let (body, media) = document;
        return Ok(typed(cluster, 200, body, media));
    }
    let asked = request::objects(&cluster.sim, path, head.uri.query().unwrap_or(""), &head.headers)?;
    let counter = match head.method {
        Method::GET if asked.params.flag("watch") => &counters.watches,
        Method::GET if asked.one => &counters.gets,
        Method::GET => &counters.lists,
        Method::POST => &counters.creates,
        Method::PUT => &counters.updates,
        Method::PATCH => &counters.patches,
        _ => &counters.deletes,
    };
    add(counter, 1);
    if head.method == Method::GET && asked.params.flag("watch") {
        let stream = watch::start(&cluster.sim, &asked, server)?;
        let mut response = Response::new(Body::from_stream(stream));
        let media = http::HeaderValue::from_static("application/json");
        response.headers_mut().insert(http::header::CONTENT_TYPE, media);
        return Ok(response);
    }
    if !asked.subresource.is_empty() && asked.subresource != "status" {
        return special(cluster, head, &asked, body);
    }
    match head.method {
        Method::GET => read(cluster, &asked),
        Method::DELETE => remove(cluster, &asked, body),
        _ => write(cluster, head, &asked, body),
    }
}

type Document = (Bytes, &'static str);

/// What is served beside objects.
fn document(cluster: &Cluster, path: &str, accept: &str) -> Answer<Option<Document>> {
    const TEXT: &str = "text/plain; charset=utf-8";
    const JSON: &str = "application/json";
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let sim = &cluster.sim;
    let served = sim.kinds.served();
    Ok(Some(match &parts[..] {
        ["readyz" | "livez" | "healthz", ..] => (Bytes::from_static(b"ok"), TEXT),
        ["version"] => (discovery::version(&sim.options.version).to_string().into(), JSON),
        ["api" | "apis"] if accept.contains("g=apidiscovery.k8s.io") => {
            let version = if accept.contains("v=v2;") || accept.ends_with("v=v2") { "v2" } else { "v2beta1" };
            let body = discovery::aggregated(&served, parts[0] == "api", version);
            let media = if version == "v2" {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            } else {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            };
            (body.to_string().into(), media)
        }
        ["api"] => (discovery::core_versions().to_string().into(), JSON),
        ["apis"] => (discovery::groups(&served).to_string().into(), JSON),
        ["apis", group] => {
            let found = discovery::group(&served, group).ok_or_else(Refusal::no_such_path)?;
            (found.to_string().into(), JSON)
        }
        ["api", version] => (
            discovery::resources(&served, version).ok_or_else(Refusal::no_such_path)?.to_string().into(),
            JSON,
        ),
        ["apis", group, version] => {
            let version = format!("{group}/{version}");
            (
                discovery::resources(&served, &version).ok_or_else(Refusal::no_such_path)?.to_string().into(),
                JSON,
            )
        }
        ["openapi", "v3"] => (openapi::index(&served).to_string().into(), JSON),
        ["openapi", "v3", rest @ ..] => {
            let document =
                openapi::document(&served, &rest[1..].join("/")).ok_or_else(Refusal::no_such_path)?;
            (document.to_string().into(), JSON)
        }
        ["openapi", "v2"] if accept.contains("protobuf") && !accept.contains("application/json") => {
            (Bytes::from_static(openapi::V2_PROTOBUF), openapi::V2_PROTOBUF_MEDIA)
        }
        ["openapi", "v2"] => (openapi::v2(&served).to_string().into(), JSON),
        [""] => (discovery::root(&served).to_string().into(), JSON),
        _ => return Ok(None),
    }))
}

fn read(cluster: &Cluster, asked: &Asked) -> Answer<Response<Body>> {
    let (sim, target) = (&cluster.sim, &asked.target);
    if asked.one {
        let found = crate::convert::outward(&target.kind, target.version, &target.get(sim)?);
        return Ok(json(cluster, 200, view::one(target, asked.form, &found)));
    }
    let page = list::list(sim, target, &asked.params.query(&target.kind)?)?;
    Ok(json(cluster, 200, view::page(target, asked.form, &page)))
}

fn write(
    cluster: &Cluster,
    head: &http::request::Parts,
    asked: &Asked,
    body: &Bytes,
) -> Answer<Response<Body>> {
    let (sim, target) = (&cluster.sim, &asked.target);
    let write = asked.params.write(&asked.subresource, agent(&head.headers))?;
    let done = match (&head.method, asked.one) {
        (&Method::POST, false) => create::create(sim, target, sent(head, body)?, &write)?,
        (&Method::PUT, true) => update::replace(sim, target, sent(head, body)?, &write)?,
        (&Method::PATCH, true) => {
            let how = patch_kind(head, asked)?;
            apply::patch(sim, target, body, how, &write)?
        }
        _ => return Err(Refusal::method_not_allowed()),
    };
    if matches!(head.method, Method::PATCH)
        && content_type(&head.headers).starts_with("application/apply-patch")
    {
        add(&sim.counters.applies, 1);
    }
    Ok(finished(cluster, asked, &done))
}

fn finished(cluster: &Cluster, asked: &Asked, done: &Done) -> Response<Body> {
    let target = &asked.target;
    let object = crate::convert::outward(&target.kind, target.version, &done.object);
    let code = if done.created { 201 } else { 200 };
    let mut response = json(cluster, code, view::one(target, asked.form, &object));
    for warning in &done.warnings {
        let text = format!("299 - \"{}\"", warning.replace('"', "\\\""));
        if let Ok(value) = http::HeaderValue::from_str(&text) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
    response
}

/// The sent object, from JSON or YAML.
fn sent(head: &http::request::Parts, body: &Bytes) -> Answer<Value> {
    match content_type(&head.headers) {
        "" | "application/json" => decode::parse(body, false),
        "application/yaml" | "application/apply-patch+yaml" => decode::parse(body, true),
        _ => Err(Refusal::unsupported_media_type("application/json, application/yaml")),
    }
}

fn patch_kind(head: &http::request::Parts, asked: &Asked) -> Answer<PatchKind> {
    match content_type(&head.headers) {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" => {
            if asked.params.get("fieldManager").is_empty() {
                let message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required \
                    for apply patch";
                return Err(Refusal::new(422, "Invalid", message));
            }
            Ok(PatchKind::Apply { force: asked.params.flag("force") })
        }
        _ => Err(Refusal::unsupported_media_type(
            "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, \
             application/apply-patch+yaml",
        )),
    }
}

fn remove(cluster: &Cluster, asked: &Asked, body: &Bytes) -> Answer<Response<Body>> {
    let (sim, target) = (&cluster.sim, &asked.target);
    let mut options = if body.is_empty() { json!({}) } else { decode::parse(body, true)? };
    for key in ["propagationPolicy", "gracePeriodSeconds", "orphanDependents"] {
        let value = asked.params.get(key);
        if !value.is_empty() {
            options[key] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        }
    }
    let dry_run = asked.params.get("dryRun") == "All" || !object::list(&options, "dryRun").is_empty();
    if asked.one {
        let deleted = delete::delete(sim, target, &options, dry_run)?;
        return Ok(json(cluster, 200, deleted.body(&target.kind).to_string().into()));
    }
    let query = Query { limit: 0, ..asked.params.query(&target.kind)? };
    let page = list::list(sim, target, &query)?;
    for item in &page.items {
        let one = Target {
            namespace: object::namespace(&item.value).to_owned(),
            name: object::name(&item.value).to_owned(),
            ..target.clone()
        };
        match delete::delete(sim, &one, &options, dry_run) {
            Err(refusal) if refusal.code != 404 => return Err(refusal),
            _ => {}
        }
    }
    Ok(json(cluster, 200, view::page(target, asked.form, &page)))
}

fn special(
    cluster: &Cluster,
    head: &http::request::Parts,
    asked: &Asked,
    body: &Bytes,
) -> Answer<Response<Body>> {
    let (sim, target) = (&cluster.sim, &asked.target);
    let write = asked.params.write(&asked.subresource, agent(&head.headers))?;
    let value = match (&*asked.subresource, &head.method) {
        ("scale", &Method::GET) => subresource::scale(sim, target)?,
        ("scale", &Method::PUT | &Method::PATCH) => {
            let media = content_type(&head.headers).to_owned();
            subresource::rescale(sim, target, &write, |scale| {
                match &*media {
                    "application/json-patch+json" => {
                        crate::patch::json(&target.kind, &target.name, scale, body)?
                    }
                    "application/json" | "" => *scale = decode::parse(body, false)?,
                    _ => crate::patch::merge(scale, &decode::parse(body, true)?),
                }
                Ok(())
            })?
        }
        ("eviction", &Method::POST) => subresource::evict(sim, target, &sent(head, body)?)?,
        ("binding", &Method::POST) => subresource::bind(sim, target, &sent(head, body)?, &write)?,
        ("log", &Method::GET) => {
            let pod = target.get(sim)?;
            let text = crate::clockwork::pod::log(&pod.value, asked.params.get("container"));
            return Ok(typed(cluster, 200, text.into(), "text/plain"));
        }
        ("finalize", &Method::PUT) => {
            let value = sent(head, body)?;
            let finalizers = object::at(&value, "spec.finalizers").cloned();
            let done = update::edit(sim, target, &write, |namespace| {
                object::put(namespace, "spec.finalizers", finalizers.clone().unwrap_or_else(|| json!([])));
                Ok(())
            })?;
            done.value.clone()
        }
        ("ephemeralcontainers" | "approval", &Method::GET) => target.get(sim)?.value.clone(),
        _ => return Err(Refusal::method_not_allowed()),
    };
    let created = matches!(&*asked.subresource, "eviction" | "binding");
    Ok(json(cluster, if created { 201 } else { 200 }, value.to_string().into()))
}
