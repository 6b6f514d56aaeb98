//! Refusals, as the `Status` body a real API server answers with.

use serde_json::{Map, Value, json};

use crate::kinds::Kind;

/// One cause of an `Invalid` or `Conflict` answer.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

impl Cause {
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Cause {
        let message =
            if detail.is_empty() { "Required value".into() } else { format!("Required value: {detail}") };
        Cause { reason: "FieldValueRequired", message, field: field.into() }
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Cause {
        Cause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {value}: {detail}"),
            field: field.into(),
        }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Cause {
        Cause { reason: "FieldValueForbidden", message: format!("Forbidden: {detail}"), field: field.into() }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Cause {
        Cause {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {value}"),
            field: field.into(),
        }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, known: &[&str]) -> Cause {
        let known: Vec<String> = known.iter().map(|k| format!("\"{k}\"")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        Cause { reason: "FieldValueNotSupported", message, field: field.into() }
    }
}

/// A refused request. Boxed: it is the rare end of every operation's result.
#[derive(Clone, Debug)]
pub(crate) struct Refusal(Box<Parts>);

/// What a refusal says.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub details: Option<Value>,
    /// Seconds of the `Retry-After` header.
    pub retry_after: Option<u32>,
}

impl std::ops::Deref for Refusal {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl std::ops::DerefMut for Refusal {
    fn deref_mut(&mut self) -> &mut Parts {
        &mut self.0
    }
}

/// Result of an operation on the simulated server.
pub(crate) type Answer<T> = Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Refusal {
        Refusal(Box::new(Parts { code, reason, message: message.into(), details: None, retry_after: None }))
    }

    fn about(mut self, kind: &Kind, name: &str, singular: bool) -> Refusal {
        let shown = if singular { &kind.kind } else { &kind.plural };
        let mut details = Map::new();
        for (key, value) in [("name", name), ("group", &*kind.group), ("kind", shown)] {
            if !value.is_empty() {
                details.insert(key.into(), value.into());
            }
        }
        self.details = Some(Value::Object(details));
        self
    }

    fn with_causes(mut self, causes: &[Cause]) -> Refusal {
        let causes: Vec<Value> = causes
            .iter()
            .map(|c| json!({"reason": c.reason, "message": c.message, "field": c.field}))
            .collect();
        self.details.get_or_insert_with(|| json!({}))["causes"] = causes.into();
        self
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Refusal {
        Refusal::new(404, "NotFound", format!("{} \"{name}\" not found", kind.resource()))
            .about(kind, name, false)
    }

    pub(crate) fn no_such_path() -> Refusal {
        let mut refusal = Refusal::new(404, "NotFound", "the server could not find the requested resource");
        refusal.details = Some(json!({}));
        refusal
    }

    pub(crate) fn namespace_not_found(name: &str) -> Refusal {
        let mut refusal = Refusal::new(404, "NotFound", format!("namespaces \"{name}\" not found"));
        refusal.details = Some(json!({"name": name, "kind": "namespaces"}));
        refusal
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Refusal {
        Refusal::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", kind.resource()))
            .about(kind, name, false)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Refusal {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource());
        Refusal::new(409, "Conflict", message).about(kind, name, false)
    }

    pub(crate) fn modified(kind: &Kind, name: &str) -> Refusal {
        const WHY: &str =
            "the object has been modified; please apply your changes to the latest version and try again";
        Refusal::conflict(kind, name, WHY)
    }

    pub(crate) fn apply_conflict(message: String, causes: &[Cause]) -> Refusal {
        Refusal::new(409, "Conflict", message).with_causes(causes)
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Refusal {
        let lines: Vec<String> = causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        let shown = if lines.len() == 1 { lines[0].clone() } else { format!("[{}]", lines.join(", ")) };
        let full =
            if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        Refusal::new(422, "Invalid", format!("{full} \"{name}\" is invalid: {shown}"))
            .about(kind, name, true)
            .with_causes(causes)
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Refusal {
        Refusal::new(403, "Forbidden", format!("{} \"{name}\" is forbidden: {why}", kind.resource()))
            .about(kind, name, false)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Refusal {
        Refusal::new(400, "BadRequest", message)
    }

    pub(crate) fn expired(asked: u64, oldest: u64) -> Refusal {
        Refusal::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    pub(crate) fn too_large_version(asked: u64, current: u64) -> Refusal {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut refusal = Refusal::new(504, "Timeout", message);
        refusal.details = Some(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }));
        refusal.retry_after = Some(1);
        refusal
    }

    pub(crate) fn method_not_allowed() -> Refusal {
        let message = "the server does not allow this method on the requested resource";
        let mut refusal = Refusal::new(405, "MethodNotAllowed", message);
        refusal.details = Some(json!({}));
        refusal
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Refusal {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Refusal::new(415, "UnsupportedMediaType", message)
    }

    /// The object would not fit into the store's request limit.
    pub(crate) fn too_large() -> Refusal {
        Refusal::new(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")
    }

    /// The `Status` object.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
        });
        if !self.reason.is_empty() {
            body["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            body["details"] = details.clone();
        }
        body["code"] = self.code.into();
        body
    }
}
