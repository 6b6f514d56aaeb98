//! Errors, as the `Status` body that a real API server returns.

use serde_json::{Map, Value, json};

use crate::kinds::ResourceKind;

/// One cause of an `Invalid` or `Conflict` error.
#[derive(Clone, Debug)]
pub(crate) struct StatusCause {
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

impl StatusCause {
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> StatusCause {
        let message =
            if detail.is_empty() { "Required value".into() } else { format!("Required value: {detail}") };
        StatusCause { reason: "FieldValueRequired", message, field: field.into() }
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> StatusCause {
        StatusCause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {value}: {detail}"),
            field: field.into(),
        }
    }

    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> StatusCause {
        StatusCause {
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {detail}"),
            field: field.into(),
        }
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> StatusCause {
        StatusCause {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {value}"),
            field: field.into(),
        }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, known: &[&str]) -> StatusCause {
        let known: Vec<String> = known.iter().map(|k| format!("\"{k}\"")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        StatusCause { reason: "FieldValueNotSupported", message, field: field.into() }
    }
}

/// The error of a rejected request. Boxed to keep the `Result` of every operation small.
#[derive(Clone, Debug)]
pub(crate) struct StatusError(Box<StatusErrorFields>);

/// The fields of a [`StatusError`].
#[derive(Clone, Debug)]
pub(crate) struct StatusErrorFields {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub details: Option<Value>,
    /// Seconds of the `Retry-After` header.
    pub retry_after: Option<u32>,
}

impl std::ops::Deref for StatusError {
    type Target = StatusErrorFields;

    fn deref(&self) -> &StatusErrorFields {
        &self.0
    }
}

impl std::ops::DerefMut for StatusError {
    fn deref_mut(&mut self) -> &mut StatusErrorFields {
        &mut self.0
    }
}

/// Result of an operation on the simulated server.
pub(crate) type ApiResult<T> = Result<T, StatusError>;

impl StatusError {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> StatusError {
        StatusError(Box::new(StatusErrorFields {
            code,
            reason,
            message: message.into(),
            details: None,
            retry_after: None,
        }))
    }

    fn with_details(mut self, kind: &ResourceKind, name: &str, singular: bool) -> StatusError {
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

    fn with_causes(mut self, causes: &[StatusCause]) -> StatusError {
        let causes: Vec<Value> = causes
            .iter()
            .map(|c| json!({"reason": c.reason, "message": c.message, "field": c.field}))
            .collect();
        self.details.get_or_insert_with(|| json!({}))["causes"] = causes.into();
        self
    }

    pub(crate) fn not_found(kind: &ResourceKind, name: &str) -> StatusError {
        StatusError::new(404, "NotFound", format!("{} \"{name}\" not found", kind.resource_name()))
            .with_details(kind, name, false)
    }

    pub(crate) fn path_not_found() -> StatusError {
        let mut refusal =
            StatusError::new(404, "NotFound", "the server could not find the requested resource");
        refusal.details = Some(json!({}));
        refusal
    }

    pub(crate) fn namespace_not_found(name: &str) -> StatusError {
        let mut refusal = StatusError::new(404, "NotFound", format!("namespaces \"{name}\" not found"));
        refusal.details = Some(json!({"name": name, "kind": "namespaces"}));
        refusal
    }

    pub(crate) fn already_exists(kind: &ResourceKind, name: &str) -> StatusError {
        StatusError::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", kind.resource_name()))
            .with_details(kind, name, false)
    }

    pub(crate) fn conflict(kind: &ResourceKind, name: &str, why: &str) -> StatusError {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource_name());
        StatusError::new(409, "Conflict", message).with_details(kind, name, false)
    }

    pub(crate) fn modified(kind: &ResourceKind, name: &str) -> StatusError {
        const WHY: &str =
            "the object has been modified; please apply your changes to the latest version and try again";
        StatusError::conflict(kind, name, WHY)
    }

    pub(crate) fn apply_conflict(message: String, causes: &[StatusCause]) -> StatusError {
        StatusError::new(409, "Conflict", message).with_causes(causes)
    }

    pub(crate) fn invalid(kind: &ResourceKind, name: &str, causes: &[StatusCause]) -> StatusError {
        let lines: Vec<String> = causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        let shown = if lines.len() == 1 { lines[0].clone() } else { format!("[{}]", lines.join(", ")) };
        let full =
            if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        StatusError::new(422, "Invalid", format!("{full} \"{name}\" is invalid: {shown}"))
            .with_details(kind, name, true)
            .with_causes(causes)
    }

    pub(crate) fn forbidden(kind: &ResourceKind, name: &str, why: &str) -> StatusError {
        StatusError::new(403, "Forbidden", format!("{} \"{name}\" is forbidden: {why}", kind.resource_name()))
            .with_details(kind, name, false)
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> StatusError {
        StatusError::new(400, "BadRequest", message)
    }

    pub(crate) fn expired(requested: u64, oldest: u64) -> StatusError {
        StatusError::new(410, "Expired", format!("too old resource version: {requested} ({oldest})"))
    }

    pub(crate) fn version_too_large(requested: u64, current: u64) -> StatusError {
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        let mut refusal = StatusError::new(504, "Timeout", message);
        refusal.details = Some(json!({
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }));
        refusal.retry_after = Some(1);
        refusal
    }

    pub(crate) fn method_not_allowed() -> StatusError {
        let message = "the server does not allow this method on the requested resource";
        let mut refusal = StatusError::new(405, "MethodNotAllowed", message);
        refusal.details = Some(json!({}));
        refusal
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> StatusError {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        StatusError::new(415, "UnsupportedMediaType", message)
    }

    /// The object exceeds the request size limit.
    pub(crate) fn too_large() -> StatusError {
        StatusError::new(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")
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
