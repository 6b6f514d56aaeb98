//! Reads what the server says when it refuses (`meta/v1 Status`) into [`Error`].

use std::borrow::Cow;
use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use crate::error::Error;

/// Longest message kept, in characters; webhooks can be talkative.
const MESSAGE_MAX: usize = 1_000;

/// An error below HTTP.
pub(crate) fn of_client(error: &kube::Error) -> Error {
    match error {
        kube::Error::Api(status) => {
            let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let bytes = serde_json::to_vec(status).unwrap_or_default();
            of_status(code, &bytes, None)
        }
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Error::Unreadable(chain(error)),
        _ => Error::ApiServerUnreachable(chain(error)),
    }
}

/// An error with its causes, which is where connection errors keep what matters.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    cut(&text)
}

/// `Retry-After` in seconds; dates are not used by API servers.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// An answer that is no success.
pub(crate) fn of_status(code: StatusCode, body: &[u8], retry_after: Option<Duration>) -> Error {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    let whole = status["message"].as_str().map_or_else(|| String::from_utf8_lossy(body), Into::into);
    let message = cut(&without_contents(&whole));
    let retry_after = retry_after
        .or_else(|| status.pointer("/details/retryAfterSeconds")?.as_u64().map(Duration::from_secs));
    if message.contains("admission webhook") && message.contains("denied the request")
        || message.contains("ValidatingAdmissionPolicy") && message.contains("denied request")
    {
        return Error::AdmissionRejected(message);
    }
    if code.is_server_error() && message.contains("failed calling webhook") {
        return Error::AdmissionUnavailable(message);
    }
    if code == StatusCode::UNPROCESSABLE_ENTITY && message.contains("metadata.uid: Invalid value") {
        // An apply that named a uid met another object of the same name.
        return Error::Conflict(message);
    }
    match code {
        StatusCode::NOT_FOUND => not_found(&status, message),
        StatusCode::CONFLICT => conflict(&status, message),
        StatusCode::FORBIDDEN => forbidden(message),
        StatusCode::UNAUTHORIZED => Error::PermissionDenied(message),
        StatusCode::GONE => Error::Gone,
        StatusCode::TOO_MANY_REQUESTS => Error::Throttled { retry_after },
        StatusCode::UNPROCESSABLE_ENTITY
            if message.contains("field is immutable") || is_forbidden_update(&message) =>
        {
            Error::ImmutableField(message)
        }
        // A field of the wrong type in an apply: the server calls that its own failure.
        _ if message.starts_with("failed to create typed patch object") => Error::Invalid(message),
        code if code.is_server_error() => Error::ServerFailed { code: code.as_u16(), message, retry_after },
        _ => Error::Invalid(message),
    }
}

/// "Invalid value" of a whole pod template is a page long, may hold secrets, and has the reason behind it.
fn without_contents(message: &str) -> Cow<'_, str> {
    const BEFORE: &str = "Invalid value: ";
    let (mut rest, mut kept) = (message, String::new());
    while let Some(at) = rest.find(&format!("{BEFORE}{{")) {
        let value = &rest[at + BEFORE.len()..];
        kept.push_str(&rest[..at + BEFORE.len()]);
        kept.push('…');
        rest = &value[object_end(value)..];
    }
    if kept.is_empty() { message.into() } else { (kept + rest).into() }
}

/// Where the object that the text begins with ends.
fn object_end(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted && depth == 1 => return at + 1,
            '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// StatefulSets and Services say it without the word "immutable".
fn is_forbidden_update(message: &str) -> bool {
    message.contains("Forbidden: updates to") || message.contains("may not change once set")
}

fn not_found(status: &Value, message: String) -> Error {
    let kind = status.pointer("/details/kind").and_then(Value::as_str).unwrap_or_default();
    let name = status.pointer("/details/name").and_then(Value::as_str).unwrap_or_default();
    if message.contains("could not find the requested resource") {
        Error::ApiMissing(message)
    } else if kind == "namespaces" && !name.is_empty() {
        Error::NamespaceMissing(name.to_owned())
    } else {
        Error::NotFound(message)
    }
}

fn conflict(status: &Value, message: String) -> Error {
    let causes = status.pointer("/details/causes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut managers = Vec::new();
    let mut fields = Vec::new();
    for cause in causes.iter().filter(|cause| cause["reason"] == "FieldManagerConflict") {
        if let Some(manager) = cause["message"].as_str().and_then(|text| text.split('"').nth(1))
            && !managers.iter().any(|known| known == manager)
        {
            managers.push(manager.to_owned());
        }
        fields.extend(cause["field"].as_str().map(str::to_owned));
    }
    if managers.is_empty() { Error::Conflict(message) } else { Error::ApplyConflict { managers, fields } }
}

fn forbidden(message: String) -> Error {
    if message.contains("because it is being terminated") {
        Error::NamespaceTerminating(message)
    } else if message.contains("User \"") && message.contains("cannot ") {
        Error::PermissionDenied(message)
    } else {
        Error::AdmissionRejected(message)
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= MESSAGE_MAX {
        return text.trim().to_owned();
    }
    let mut short: String = text.chars().take(MESSAGE_MAX).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(code: u16, body: &Value) -> Error {
        of_status(StatusCode::from_u16(code).unwrap(), body.to_string().as_bytes(), None)
    }

    #[test]
    fn p13_a_conflict_names_the_other_manager_and_the_fields() {
        let error = of(
            409,
            &json!({"message": "Apply failed with 1 conflict", "reason": "Conflict", "details": {"causes": [{
                "reason": "FieldManagerConflict",
                "message": "conflict with \"kubectl-edit\" using apps/v1",
                "field": ".spec.replicas",
            }]}}),
        );
        assert_eq!(error.label(), "ApplyConflict");
        assert_eq!(error.to_string(), "field .spec.replicas is owned by kubectl-edit");
    }

    #[test]
    fn p14_a_quota_a_webhook_and_missing_rights_are_told_apart() {
        let quota = of(403, &json!({"message": "pods \"a\" is forbidden: exceeded quota: small"}));
        assert_eq!(quota.label(), "AdmissionRejected");
        let hook = of(400, &json!({"message": "admission webhook \"x\" denied the request: no"}));
        assert_eq!(hook.label(), "AdmissionRejected");
        let down =
            of(500, &json!({"message": "Internal error occurred: failed calling webhook \"x\": refused"}));
        assert_eq!(down.label(), "AdmissionUnavailable");
        let rights = of(
            403,
            &json!({"message": "secrets is forbidden: User \"agent\" cannot create resource \"secrets\""}),
        );
        assert_eq!(rights.label(), "PermissionDenied");
        let ending = of(403, &json!({"message": "… because it is being terminated"}));
        assert_eq!(ending.label(), "NamespaceTerminating");
    }

    #[test]
    fn p14_the_reason_behind_a_long_value_is_found_and_the_value_is_not_kept() {
        let value = json!({"Image": "nginx:2", "Env": [{"Name": "PASSWORD", "Value": "a}\"b"}], "x": "y".repeat(3_000)});
        let error = of(
            422,
            &json!({"message": format!(
                "Job.batch \"once\" is invalid: spec.template: Invalid value: {value}: field is immutable"
            )}),
        );
        assert_eq!(
            error,
            Error::ImmutableField(
                "Job.batch \"once\" is invalid: spec.template: Invalid value: …: field is immutable".into()
            )
        );
    }

    #[test]
    fn p14_a_field_of_the_wrong_type_is_the_objects_fault() {
        let said = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string";
        assert_eq!(of(500, &json!({"message": said})).label(), "Invalid");
        assert_eq!(of(500, &json!({"message": "etcdserver: leader changed"})).label(), "ServerFailed");
    }

    #[test]
    fn a_missing_namespace_is_told_from_a_missing_object() {
        let error = of(
            404,
            &json!({"message": "namespaces \"web\" not found", "details": {"kind": "namespaces", "name": "web"}}),
        );
        assert_eq!(error, Error::NamespaceMissing("web".into()));
        assert_eq!(of(404, &json!({"message": "configmaps \"a\" not found"})).label(), "NotFound");
    }

    #[test]
    fn p11_the_servers_wish_for_a_pause_is_kept() {
        let error = of(429, &json!({"message": "busy", "details": {"retryAfterSeconds": 7}}));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, "3".parse().unwrap());
        assert_eq!(retry_after(&headers), Some(Duration::from_secs(3)));
    }

    #[test]
    fn bodies_that_are_no_json_are_cut_and_kept_as_text() {
        let error = of_status(StatusCode::BAD_GATEWAY, "x".repeat(5_000).as_bytes(), None);
        assert!(error.to_string().len() < 1_100);
    }
}
