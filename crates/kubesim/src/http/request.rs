//! What a request asks for: path, query and the form of the answer.

use std::sync::Arc;

use http::HeaderMap;

use crate::cluster::Sim;
use crate::kinds::Kind;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::{Answer, Refusal};
use crate::verbs::list::Query;
use crate::verbs::{FieldValidation, Target, Write};

/// The form an answer is wanted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Metadata,
    Table,
}

/// A request for objects.
#[derive(Debug)]
pub(crate) struct Asked {
    pub target: Target,
    /// Whether the path names one object.
    pub one: bool,
    pub subresource: String,
    pub params: Params,
    pub form: Form,
}

/// Query parameters, decoded.
#[derive(Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(query: &str) -> Params {
        let pairs = query.split('&').filter(|p| !p.is_empty());
        Params(
            pairs
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(key), decode(value))
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v)
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), "true" | "1" | "True")
    }

    /// The version a list or watch names; none for "" and "0".
    pub(crate) fn version(&self) -> Answer<Option<u64>> {
        match self.get("resourceVersion") {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                Refusal::bad_request(format!("Invalid value: \"{text}\": resourceVersion is not a number"))
            }),
        }
    }

    /// Selectors and pages.
    pub(crate) fn query(&self, kind: &Kind) -> Answer<Query> {
        Ok(Query {
            labels: LabelSelector::parse(self.get("labelSelector"))?,
            fields: FieldSelector::parse(&kind.kind, self.get("fieldSelector"))?,
            limit: self.get("limit").parse().unwrap_or(0),
            token: self.get("continue").to_owned(),
            version: self.version()?,
            exact: self.get("resourceVersionMatch") == "Exact",
        })
    }

    /// How to write, for a manager that the client's name stands in for.
    pub(crate) fn write<'a>(&'a self, subresource: &'a str, agent: &'a str) -> Answer<Write<'a>> {
        let dry_run = match self.get("dryRun") {
            "" => false,
            "All" => true,
            other => {
                let message = format!(
                    "Invalid value: [\"{other}\"]: dryRun: Unsupported value: \"{other}\": supported values: \"All\""
                );
                return Err(Refusal::new(422, "Invalid", message));
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
        Ok(Write { manager, subresource, dry_run, validation, system: false })
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let pair = (rest.next().and_then(hex), rest.next().and_then(hex));
                if let (Some(high), Some(low)) = pair {
                    bytes.push(high * 16 + low);
                }
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// The name the client's `User-Agent` begins with.
pub(crate) fn agent(headers: &HeaderMap) -> &str {
    let agent = headers.get(http::header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or("");
    match agent.split('/').next() {
        Some("") | None => "unknown",
        Some(name) => name,
    }
}

/// The `Accept` header.
pub(crate) fn accept(headers: &HeaderMap) -> &str {
    headers.get(http::header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or("")
}

/// The first form of an `Accept` header that can be answered.
fn form(accept: &str) -> Form {
    for part in accept.split(',') {
        if part.contains("as=Table") && part.contains("json") {
            return Form::Table;
        }
        if part.contains("as=PartialObjectMetadata") && part.contains("json") {
            return Form::Metadata;
        }
        if part.trim() == "application/json" {
            return Form::Whole;
        }
    }
    Form::Whole
}

/// Reads the path below `/api` or `/apis`.
///
/// # Errors
/// 404 for what is not served.
pub(crate) fn objects(sim: &Sim, path: &str, query: &str, headers: &HeaderMap) -> Answer<Asked> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (api_version, rest) = match &parts[..] {
        ["api", version, rest @ ..] => ((*version).to_owned(), rest),
        ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
        _ => return Err(Refusal::no_such_path()),
    };
    let served = sim.kinds.served();
    let find = |plural: &str| served.by_path(&api_version, plural).ok_or_else(Refusal::no_such_path);
    let (found, namespace, name, subresource) = match rest {
        ["namespaces", namespace, plural, tail @ ..] if !matches!(*plural, "status" | "finalize") => {
            let found = find(plural)?;
            if !found.0.namespaced {
                return Err(Refusal::no_such_path());
            }
            (found, *namespace, tail.first(), tail.get(1))
        }
        [plural, tail @ ..] => {
            let found = find(plural)?;
            if found.0.namespaced && !tail.is_empty() {
                return Err(Refusal::no_such_path());
            }
            (found, "", tail.first(), tail.get(1))
        }
        [] => return Err(Refusal::no_such_path()),
    };
    let (kind, version): (Arc<Kind>, usize) = found;
    let subresource = subresource.copied().unwrap_or("");
    if !subresource.is_empty() && !kind.subresources.iter().any(|s| s == subresource) {
        return Err(Refusal::no_such_path());
    }
    let name = name.map(|n| decode(n)).unwrap_or_default();
    Ok(Asked {
        one: !name.is_empty(),
        target: Target { kind, version, namespace: namespace.to_owned(), name },
        subresource: subresource.to_owned(),
        params: Params::parse(query),
        form: form(accept(headers)),
    })
}

/// The kind of patch a `Content-Type` names.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim()
}
