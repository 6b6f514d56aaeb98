//! The OpenAPI document as a client reads it: its operations, and what in a response contradicts it.

use axum::http::{HeaderMap, Method};
use serde_json::{Map, Value};

/// Headers that the document has to name where a response has them.
const NAMED_HEADERS: [&str; 6] =
    ["ETag", "Idempotency-Replayed", "Link", "Location", "Retry-After", "WWW-Authenticate"];
/// Of these, those that every response has that names them.
const CERTAIN_HEADERS: [&str; 3] = ["ETag", "Location", "Retry-After"];

/// The document of a server.
pub struct ServedDocument(Value);

/// An operation of the document.
pub struct DocumentedOperation<'d> {
    pub id: &'d str,
    pub method: Method,
    /// The path with the names of its parameters between braces.
    pub path: &'d str,
    /// Its description.
    pub value: &'d Value,
}

/// What a server answered.
pub struct ReceivedResponse<'r> {
    pub status: u16,
    pub headers: &'r HeaderMap,
    /// The body; empty for a stream, which has no end.
    pub text: &'r str,
}

impl ServedDocument {
    pub fn new(document: Value) -> Self {
        Self(document)
    }

    pub fn list_operations(&self) -> Vec<DocumentedOperation<'_>> {
        let mut operations = Vec::new();
        for (path, item) in self.0["paths"].as_object().unwrap() {
            for (method, value) in item.as_object().unwrap() {
                let id = value["operationId"].as_str().unwrap();
                let method = method.to_uppercase().parse().unwrap();
                operations.push(DocumentedOperation { id, method, path, value });
            }
        }
        operations
    }

    /// The value that a reference leads to, or the value itself.
    pub fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                let pointer = reference.strip_prefix('#').unwrap();
                self.resolve(self.0.pointer(pointer).unwrap_or_else(|| panic!("nothing is at {reference}")))
            }
            None => value,
        }
    }

    /// What contradicts the document in a response to this operation.
    pub fn find_violation(
        &self,
        operation: &DocumentedOperation<'_>,
        response: &ReceivedResponse<'_>,
    ) -> Result<(), String> {
        let status = response.status.to_string();
        let described = self.resolve(&operation.value["responses"][&status]);
        if described.is_null() {
            return Err(format!("the document does not name the status {status}"));
        }
        self.check_headers(described, response)?;
        let none = Map::new();
        let content = described["content"].as_object().unwrap_or(&none);
        let media_type = header(response.headers, "content-type");
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        if response.text.is_empty() && (content.is_empty() || media_type == "text/event-stream") {
            return Ok(());
        }
        let Some(body) = content.get(media_type) else {
            let types: Vec<&String> = content.keys().collect();
            return Err(format!("{status} has the type {media_type:?}, the document names {types:?}"));
        };
        if media_type != "application/json" && media_type != wire::problem::MEDIA_TYPE {
            return Ok(());
        }
        let value: Value = serde_json::from_str(response.text)
            .map_err(|error| format!("the body of {status} is not JSON: {error}"))?;
        self.check(&body["schema"], &value, "").map_err(|violation| format!("{status} at {violation}"))?;
        if response.status >= 400 { check_problem(&value, response.status) } else { Ok(()) }
    }

    fn check_headers(&self, described: &Value, response: &ReceivedResponse<'_>) -> Result<(), String> {
        for name in NAMED_HEADERS {
            let is_named = !described["headers"][name].is_null();
            let is_sent = response.headers.contains_key(name);
            if is_sent && !is_named {
                return Err(format!("{} has the header {name}, which is not named", response.status));
            }
            if is_named && !is_sent && CERTAIN_HEADERS.contains(&name) {
                return Err(format!("{} does not have the header {name}", response.status));
            }
        }
        Ok(())
    }

    /// Checks a value by a schema; an error begins with the pointer of what contradicts it.
    pub fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let Some(keywords) = schema.as_object() else { return Err(format!("{at}: {schema} is no schema")) };
        for (keyword, rule) in keywords {
            match &**keyword {
                "$ref" => self.check(self.resolve(schema), value, at)?,
                "type" => check_type(rule, value, at)?,
                "format" => check_format(rule, value, at)?,
                "enum" => {
                    let names = rule.as_array().unwrap();
                    ensure(names.contains(value), at, || format!("{value} is none of {rule}"))?;
                }
                "minimum" => {
                    let is_below = value.as_f64().is_some_and(|value| value < rule.as_f64().unwrap());
                    ensure(!is_below, at, || format!("{value} is less than {rule}"))?;
                }
                "required" => {
                    let missing = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                    let missing = missing.filter(|name| value.is_object() && value.get(*name).is_none());
                    let missing: Vec<&str> = missing.collect();
                    ensure(missing.is_empty(), at, || format!("{missing:?} are missing"))?;
                }
                "properties" | "additionalProperties" | "items" => self.check_children(schema, value, at)?,
                "allOf" => {
                    for part in rule.as_array().unwrap() {
                        self.check(part, value, at)?;
                    }
                }
                "oneOf" => self.check_one_of(rule.as_array().unwrap(), value, at)?,
                "default" | "deprecated" | "description" | "examples" | "propertyNames" | "title" => {}
                other => return Err(format!("{at}: no test reads the keyword {other}")),
            }
        }
        Ok(())
    }

    /// Checks the fields of a map, or the items of a list.
    fn check_children(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (name, child) in value.as_object().into_iter().flatten() {
            let at = format!("{at}/{name}");
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(property), _) => self.check(property, child, &at)?,
                (None, Value::Null | Value::Bool(true)) => {}
                (None, Value::Bool(false)) => return Err(format!("{at}: the field is not in the schema")),
                (None, others) => self.check(others, child, &at)?,
            }
        }
        let items = &schema["items"];
        for (index, child) in value.as_array().into_iter().flatten().enumerate() {
            if !items.is_null() {
                self.check(items, child, &format!("{at}/{index}"))?;
            }
        }
        Ok(())
    }

    fn check_one_of(&self, options: &[Value], value: &Value, at: &str) -> Result<(), String> {
        let results: Vec<Result<(), String>> =
            options.iter().map(|option| self.check(option, value, at)).collect();
        let matching = results.iter().filter(|result| result.is_ok()).count();
        let errors: Vec<String> = results.into_iter().filter_map(Result::err).collect();
        ensure(matching == 1, at, || format!("{matching} options match: {}", errors.join("; ")))
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn ensure(holds: bool, at: &str, describe: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{at}: {}", describe())) }
}

fn check_type(rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other} is no type"),
    };
    let fits = rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is));
    let shown: String = value.to_string().chars().take(80).collect();
    ensure(fits, at, || format!("{shown} is no {rule}"))
}

fn check_format(rule: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(text) = value.as_str().filter(|_| rule == "date-time") else { return Ok(()) };
    let is_instant = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
    ensure(is_instant, at, || format!("{text:?} is no instant"))
}

/// A problem has a code, and says what is wrong.
fn check_problem(problem: &Value, status: u16) -> Result<(), String> {
    let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    let kind = format!("urn:flotilla:problem:{}", text("code"));
    let is_complete = !text("code").is_empty() && !text("detail").is_empty() && !text("title").is_empty();
    ensure(is_complete && text("type") == kind && problem["status"] == status, "", || problem.to_string())?;
    for finding in problem["findings"].as_array().into_iter().flatten() {
        let has = |name: &str| finding[name].as_str().is_some_and(|text| !text.is_empty());
        ensure(has("code") && has("message") && has("hint"), "/findings", || finding.to_string())?;
    }
    Ok(())
}
