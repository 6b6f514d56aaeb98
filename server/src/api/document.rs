//! The OpenAPI document: what follows for every operation from its handler's name, its path and its method is added here.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, RefOr, Required, Response};

use crate::access::find_action;
use crate::custom_verb::{INTERNAL_SEPARATOR, to_public_path};
use crate::idempotency;

mod failures;

/// Every header of a response, with its meaning.
const HEADERS: [(&str, &str); 6] = [
    ("ETag", "The revision; send it back as `If-Match`"),
    (
        "Idempotency-Replayed",
        "`true`: the response of the first request with this `Idempotency-Key`, with the headers of that response",
    ),
    ("Link", "The address of the next page, with `rel=\"next\"`; none after the last page"),
    ("Location", "The address of what was created, or of the status of what was started"),
    ("Retry-After", "Seconds after which the request may be repeated"),
    ("WWW-Authenticate", "`Bearer`"),
];

/// Adds what is the same for all operations, and the public form of their paths.
pub fn complete_document(mut openapi: OpenApi) -> OpenApi {
    let paths = std::mem::take(&mut openapi.paths.paths);
    for (path, mut item) in paths {
        for (method, operation) in operations_mut(&mut item) {
            complete_operation(&path, &method, operation);
        }
        openapi.paths.paths.insert(to_public_path(&path), item);
    }
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("flt_…").build();
    if let Some(components) = &mut openapi.components {
        components.security_schemes.insert("token".to_owned(), SecurityScheme::Http(bearer).into());
        components.responses.extend(failures::list_failure_responses());
    }
    openapi
}

fn operations_mut(item: &mut PathItem) -> impl Iterator<Item = (Method, &mut Operation)> {
    let operations = [
        (Method::GET, &mut item.get),
        (Method::POST, &mut item.post),
        (Method::PUT, &mut item.put),
        (Method::PATCH, &mut item.patch),
        (Method::DELETE, &mut item.delete),
    ];
    operations.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// The operation id is the handler's name in camel case. Parameters of the path are texts unless the handler declares
/// something else. Every operation may return problems; every write accepts an `Idempotency-Key`, unless its response is never
/// stored: it contains a join token or values of a Helm release, or the request contains passwords.
fn complete_operation(path: &str, method: &Method, operation: &mut Operation) {
    operation.operation_id = operation.operation_id.as_deref().map(to_camel_case);
    let action = operation.operation_id.as_deref().and_then(find_action);
    if let Some(action) = action {
        let role = serde_json::Value::from(action.required_role().as_str());
        operation.extensions = Some(ExtensionsBuilder::new().add("x-required-role", role).build());
    }
    let declared = operation.parameters.take().unwrap_or_default();
    let is_undeclared =
        |name: &&str| !declared.iter().filter_map(as_parameter).any(|parameter| parameter.name == *name);
    let mut parameters: Vec<RefOr<Parameter>> =
        path_parameters(path).filter(is_undeclared).map(|name| path_parameter(name).into()).collect();
    parameters.extend(declared);
    // Keys belong to an actor; what is authenticated by a signature has none.
    let is_write = action.is_some_and(|action| !idempotency::is_read(action)) && !method.is_safe();
    let has_key = is_write && !idempotency::is_unstored(path);
    if has_key {
        parameters.push(idempotency_key_parameter().into());
    }
    operation.parameters = Some(parameters).filter(|parameters| !parameters.is_empty());
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response {
            complete_response(status, response, has_key);
        }
    }
    failures::add_failures(method, operation);
}

/// Every response has a description, and its headers have one; a page has a `Link`, the response to a keyed write whether it is a
/// replay.
fn complete_response(status: &str, response: &mut Response, has_key: bool) {
    let status: Option<StatusCode> = status.parse().ok();
    if response.description.is_empty() {
        let reason = status.and_then(|status| status.canonical_reason());
        response.description = reason.unwrap_or("The response").to_owned();
    }
    let mut names: Vec<String> = response.headers.keys().cloned().collect();
    if is_page(response) {
        names.push("Link".to_owned());
    }
    if has_key && status.is_some_and(|status| !status.is_server_error()) {
        names.push("Idempotency-Replayed".to_owned());
    }
    response.headers = names.into_iter().map(|name| (name.clone(), RefOr::T(header(&name)))).collect();
}

/// Whether the body is a page of a list.
fn is_page(response: &Response) -> bool {
    response.content.values().any(|content| {
        let schema = match content {
            RefOr::T(Content { schema: Some(RefOr::Ref(reference)), .. }) => reference,
            _ => return false,
        };
        schema.ref_location.starts_with("#/components/schemas/Page_")
    })
}

/// A header of a response: a text, with the meaning that it has in all of them.
fn header(name: &str) -> Header {
    let meaning = HEADERS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
    let text = ObjectBuilder::new().schema_type(Type::String);
    HeaderBuilder::new().schema(Some(text)).description(meaning).build()
}

fn as_parameter(parameter: &RefOr<Parameter>) -> Option<&Parameter> {
    match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    }
}

/// The names between braces.
fn path_parameters(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

fn path_parameter(name: &str) -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String);
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description((name == "project").then_some("`default`"))
        .schema(Some(text))
        .build()
}

fn idempotency_key_parameter() -> Parameter {
    let optional_text = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null]));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("The request is executed once per key"))
        .schema(Some(optional_text))
        .build()
}

fn to_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut camel, word| {
        let (head, tail) = word.split_at(word.len().min(1));
        camel.push_str(&head.to_uppercase());
        camel.push_str(tail);
        camel
    })
}

/// Method and path of every operation of the document.
pub fn list_routes(openapi: &OpenApi) -> Vec<(Method, String)> {
    let mut routes = vec![(Method::GET, "/api/v1/openapi.json".to_owned())];
    for (path, item) in &openapi.paths.paths {
        let mut item = item.clone();
        routes.extend(operations_mut(&mut item).map(|(method, _)| (method, path.clone())));
    }
    routes
}

/// The id of every operation of the document, by method and path.
pub fn list_operation_ids(openapi: &OpenApi) -> impl Iterator<Item = ((Method, String), String)> {
    openapi.paths.paths.iter().flat_map(|(path, item)| {
        let mut item = item.clone();
        let ids: Vec<_> = operations_mut(&mut item)
            .filter_map(|(method, operation)| Some(((method, path.clone()), operation.operation_id.clone()?)))
            .collect();
        ids
    })
}

/// The names of the query parameters of every operation of the document that has any, by method and path.
pub fn list_query_parameters(openapi: &OpenApi) -> impl Iterator<Item = ((Method, String), Vec<String>)> {
    openapi.paths.paths.iter().flat_map(|(path, item)| {
        let mut item = item.clone();
        let names = |operation: &Operation| -> Vec<String> {
            let parameters = operation.parameters.iter().flatten().filter_map(as_parameter);
            let query = parameters.filter(|parameter| parameter.parameter_in == ParameterIn::Query);
            query.map(|parameter| parameter.name.clone()).collect()
        };
        let listed: Vec<_> = operations_mut(&mut item)
            .map(|(method, operation)| ((method, path.clone()), names(operation)))
            .filter(|(_, names)| !names.is_empty())
            .collect();
        listed
    })
}

/// The custom verbs in the internal paths of a document, before [`complete_document`]. A verb that is a parameter is one of
/// the values of its schema.
pub fn list_verbs(openapi: &OpenApi) -> BTreeSet<String> {
    let mut verbs = BTreeSet::new();
    for (path, item) in &openapi.paths.paths {
        let Some((_, verb)) = path.split_once(INTERNAL_SEPARATOR) else { continue };
        let Some(name) = verb.strip_prefix('{').and_then(|verb| verb.strip_suffix('}')) else {
            verbs.insert(verb.to_owned());
            continue;
        };
        let mut item = item.clone();
        for (_, operation) in operations_mut(&mut item) {
            let parameters = operation.parameters.iter().flatten().filter_map(as_parameter);
            verbs.extend(parameters.filter(|one| one.name == name).flat_map(list_schema_values));
        }
    }
    verbs
}

fn list_schema_values(parameter: &Parameter) -> Vec<String> {
    let schema = serde_json::to_value(&parameter.schema).unwrap_or_default();
    let values = schema["enum"].as_array().cloned().unwrap_or_default();
    values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p2_a_replay_repeats_every_header_that_the_document_names() {
        for (name, _) in HEADERS.iter().filter(|(name, _)| *name != "Idempotency-Replayed") {
            let is_stored =
                idempotency::STORED_HEADERS.iter().any(|stored| name.eq_ignore_ascii_case(stored.as_str()));
            assert!(is_stored, "{name}");
        }
    }
}
