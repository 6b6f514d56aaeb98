//! Parses requests: path, query and response form.

use std::sync::Arc;

use http::HeaderMap;

use crate::cluster::SimState;
use crate::kinds::ResourceKind;
use crate::selector::{FieldSelector, LabelRequirements};
use crate::status::{ApiResult, StatusError};
use crate::verbs::list::ListOptions;
use crate::verbs::{FieldValidation, ResourcePath, WriteOptions};

/// The requested form of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseForm {
    Full,
    Metadata,
    Table,
}

/// A request for objects.
#[derive(Debug)]
pub(crate) struct ApiRequest {
    pub target: ResourcePath,
    /// Whether the path addresses a single object.
    pub is_single: bool,
    pub subresource: String,
    pub params: QueryParams,
    pub form: ResponseForm,
}

/// Query parameters, decoded.
#[derive(Debug, Default)]
pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    pub(crate) fn parse(query: &str) -> QueryParams {
        let pairs = query.split('&').filter(|p| !p.is_empty());
        QueryParams(
            pairs
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode_percent(key), decode_percent(value))
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v)
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        matches!(self.get(key), "true" | "1" | "True")
    }

    /// The `resourceVersion` of a list or watch; `None` for "" and "0".
    pub(crate) fn resource_version(&self) -> ApiResult<Option<u64>> {
        match self.get("resourceVersion") {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                StatusError::bad_request(format!(
                    "Invalid value: \"{text}\": resourceVersion is not a number"
                ))
            }),
        }
    }

    /// The list options: selectors, paging, version.
    pub(crate) fn list_options(&self, kind: &ResourceKind) -> ApiResult<ListOptions> {
        Ok(ListOptions {
            labels: LabelRequirements::parse(self.get("labelSelector"))?,
            fields: FieldSelector::parse(&kind.kind, self.get("fieldSelector"))?,
            limit: self.get("limit").parse().unwrap_or(0),
            continue_token: self.get("continue").to_owned(),
            resource_version: self.resource_version()?,
            exact_version: self.get("resourceVersionMatch") == "Exact",
        })
    }

    /// The write options; `client_name` is the default of `fieldManager`.
    pub(crate) fn write_options<'a>(
        &'a self,
        subresource: &'a str,
        agent: &'a str,
    ) -> ApiResult<WriteOptions<'a>> {
        let dry_run = match self.get("dryRun") {
            "" => false,
            "All" => true,
            other => {
                let message = format!(
                    "Invalid value: [\"{other}\"]: dryRun: Unsupported value: \"{other}\": supported values: \"All\""
                );
                return Err(StatusError::new(422, "Invalid", message));
            }
        };
        let validation = match self.get("fieldValidation") {
            "Strict" => FieldValidation::Strict,
            "Ignore" => FieldValidation::Ignore,
            _ => FieldValidation::Warn,
        };
        let manager = match self.get("fieldManager") {
            "" => agent,
            manager => manager,
        };
        Ok(WriteOptions { manager, subresource, dry_run, field_validation: validation, by_system: false })
    }
}

fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let pair = (rest.next().and_then(hex_digit), rest.next().and_then(hex_digit));
                if let (Some(high), Some(low)) = pair {
                    bytes.push(high * 16 + low);
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// The product name at the start of the client's `User-Agent`.
pub(crate) fn client_name(headers: &HeaderMap) -> &str {
    let agent = headers.get(http::header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or("");
    match agent.split('/').next() {
        Some("") | None => "unknown",
        Some(name) => name,
    }
}

/// The `AcceptArgs` header.
pub(crate) fn accept_header(headers: &HeaderMap) -> &str {
    headers.get(http::header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or("")
}

/// The first supported form of an `AcceptArgs` header.
fn parse_form(accept: &str) -> ResponseForm {
    for part in accept.split(',') {
        if part.contains("as=Table") && part.contains("json") {
            return ResponseForm::Table;
        }
        if part.contains("as=PartialObjectMetadata") && part.contains("json") {
            return ResponseForm::Metadata;
        }
        if part.trim() == "application/json" {
            return ResponseForm::Full;
        }
    }
    ResponseForm::Full
}

/// Parses the path below `/api` or `/apis`.
///
/// # Errors
/// 404 for paths that are not served.
pub(crate) fn parse_request(
    sim: &SimState,
    path: &str,
    query: &str,
    headers: &HeaderMap,
) -> ApiResult<ApiRequest> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (api_version, rest) = match &parts[..] {
        ["api", version, rest @ ..] => ((*version).to_owned(), rest),
        ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
        _ => return Err(StatusError::path_not_found()),
    };
    let served = sim.kinds.served();
    let find =
        |plural: &str| served.find_by_path(&api_version, plural).ok_or_else(StatusError::path_not_found);
    let (found, namespace, name, subresource) = match rest {
        ["namespaces", namespace, plural, tail @ ..] if !matches!(*plural, "status" | "finalize") => {
            let found = find(plural)?;
            if !found.0.namespaced {
                return Err(StatusError::path_not_found());
            }
            (found, *namespace, tail.first(), tail.get(1))
        }
        [plural, tail @ ..] => {
            let found = find(plural)?;
            if found.0.namespaced && !tail.is_empty() {
                return Err(StatusError::path_not_found());
            }
            (found, "", tail.first(), tail.get(1))
        }
        [] => return Err(StatusError::path_not_found()),
    };
    let (kind, version): (Arc<ResourceKind>, usize) = found;
    let subresource = subresource.copied().unwrap_or("");
    if !subresource.is_empty() && !kind.subresources.iter().any(|s| s == subresource) {
        return Err(StatusError::path_not_found());
    }
    let name = name.map(|n| decode_percent(n)).unwrap_or_default();
    Ok(ApiRequest {
        is_single: !name.is_empty(),
        target: ResourcePath { kind, version, namespace: namespace.to_owned(), name },
        subresource: subresource.to_owned(),
        params: QueryParams::parse(query),
        form: parse_form(accept_header(headers)),
    })
}

/// The media type of the `OverrideInput-ValueType` header.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim()
}
