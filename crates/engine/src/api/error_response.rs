//! Maps error responses (`meta/v1 Status`) to [`Error`].

use std::time::Duration;

use domain::api_message::redact_values;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use crate::error::Error;

/// Longest stored message, in characters; webhook messages are unbounded.
const MESSAGE_MAX: usize = 1_000;

/// Maps an error of the client, mostly below HTTP.
pub(crate) fn from_client_error(error: &kube::Error) -> Error {
    match error {
        kube::Error::Api(status) => {
            let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let bytes = serde_json::to_vec(status).unwrap_or_default();
            from_status(code, &bytes, None)
        }
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Error::Unreadable(error_chain(error)),
        // Without the name of the layer that failed.
        kube::Error::Service(cause) => Error::ApiServerUnreachable(error_chain(&**cause)),
        _ => Error::ApiServerUnreachable(error_chain(error)),
    }
}

/// An error with its sources, which contain the actual cause of connection errors.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    truncate(&text)
}

/// `Retry-After` in seconds; API servers send no dates.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Maps a response without a success status.
pub(crate) fn from_status(code: StatusCode, body: &[u8], retry_after: Option<Duration>) -> Error {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    let whole = status["message"].as_str().map_or_else(|| String::from_utf8_lossy(body), Into::into);
    let message = truncate(&redact_values(&whole));
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
        // An apply with a uid met another object of the same name.
        return Error::Conflict(message);
    }
    match code {
        StatusCode::NOT_FOUND => not_found_error(&status, message),
        StatusCode::CONFLICT => conflict_error(&status, message),
        StatusCode::FORBIDDEN => forbidden_error(message),
        StatusCode::UNAUTHORIZED => Error::PermissionDenied(message),
        StatusCode::GONE => Error::Gone,
        StatusCode::TOO_MANY_REQUESTS => Error::Throttled { retry_after },
        StatusCode::UNPROCESSABLE_ENTITY if is_immutable_cause(&message) => immutable_error(&status, message),
        // A field of the wrong type in an apply: the server responds with status 500.
        _ if message.starts_with("failed to create typed patch object") => Error::Invalid(message),
        code if code.is_server_error() => Error::ServerFailed { code: code.as_u16(), message, retry_after },
        _ => Error::Invalid(message),
    }
}

/// The message of a rejected change; those of StatefulSets, Services, pods and bindings do not contain "immutable".
fn is_immutable_cause(message: &str) -> bool {
    const TEXTS: [&str; 7] = [
        "is immutable",
        "may not be changed in an update",
        "field can not be less than",
        "Forbidden: updates to",
        "may not change once set",
        "updates may not change fields",
        "cannot change roleRef",
    ];
    TEXTS.iter().any(|text| message.contains(text))
}

/// The immutable fields that the server names; Go values after the first line of its message are left out.
fn immutable_error(status: &Value, message: String) -> Error {
    let causes = status.pointer("/details/causes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_immutable = |cause: &&Value| cause["message"].as_str().is_some_and(is_immutable_cause);
    let mut fields: Vec<String> = Vec::new();
    for field in causes.iter().filter(is_immutable).filter_map(|cause| cause["field"].as_str()) {
        if !fields.iter().any(|known| known == field) {
            fields.push(field.to_owned());
        }
    }
    let is_only_cause = causes.iter().all(|cause| is_immutable(&cause));
    let message = message.lines().next().unwrap_or_default().to_owned();
    Error::ImmutableField { fields, is_only_cause, message }
}

fn not_found_error(status: &Value, message: String) -> Error {
    let kind = status.pointer("/details/kind").and_then(Value::as_str).unwrap_or_default();
    let name = status.pointer("/details/name").and_then(Value::as_str).unwrap_or_default();
    // A path of a kind that is not served is answered with plain text, or with a status without a name.
    if status["kind"] != "Status" && status.get("details").is_none() && status.get("message").is_none()
        || message.contains("could not find the requested resource")
    {
        Error::ApiMissing(message)
    } else if kind == "namespaces" && !name.is_empty() {
        Error::NamespaceMissing(name.to_owned())
    } else {
        Error::NotFound(message)
    }
}

fn conflict_error(status: &Value, message: String) -> Error {
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

fn forbidden_error(message: String) -> Error {
    if message.contains("because it is being terminated") {
        Error::NamespaceTerminating(message)
    } else if message.contains("User \"") && message.contains("cannot ") {
        Error::PermissionDenied(message)
    } else {
        Error::AdmissionRejected(message)
    }
}

fn truncate(text: &str) -> String {
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
    use domain::release::Reason;

    fn error_from(code: u16, body: &Value) -> Error {
        from_status(StatusCode::from_u16(code).unwrap(), body.to_string().as_bytes(), None)
    }

    #[test]
    fn p13_a_conflict_names_the_other_manager_and_the_fields() {
        let error = error_from(
            409,
            &json!({"message": "Apply failed with 1 conflict", "reason": "Conflict", "details": {"causes": [{
                "reason": "FieldManagerConflict",
                "message": "conflict with \"kubectl-edit\" using apps/v1",
                "field": ".spec.replicas",
            }]}}),
        );
        assert_eq!(error.reason(), Reason::ApplyConflict);
        assert_eq!(error.to_string(), "field .spec.replicas is owned by kubectl-edit");
    }

    #[test]
    fn p14_quota_webhook_and_missing_permission_are_distinguished() {
        let quota = error_from(403, &json!({"message": "pods \"a\" is forbidden: exceeded quota: small"}));
        assert_eq!(quota.reason(), Reason::AdmissionRejected);
        let webhook = error_from(400, &json!({"message": "admission webhook \"x\" denied the request: no"}));
        assert_eq!(webhook.reason(), Reason::AdmissionRejected);
        let down = error_from(
            500,
            &json!({"message": "Internal error occurred: failed calling webhook \"x\": refused"}),
        );
        assert_eq!(down.reason(), Reason::AdmissionUnavailable);
        let forbidden = error_from(
            403,
            &json!({"message": "secrets is forbidden: User \"agent\" cannot create resource \"secrets\""}),
        );
        assert_eq!(forbidden.reason(), Reason::PermissionDenied);
        let terminating = error_from(403, &json!({"message": "… because it is being terminated"}));
        assert_eq!(terminating.reason(), Reason::NamespaceTerminating);
    }

    #[test]
    fn p14_a_long_value_is_redacted_and_the_reason_after_it_is_retained() {
        let value = json!({"Image": "nginx:2", "Env": [{"Name": "PASSWORD", "Value": "a}\"b"}], "x": "y".repeat(3_000)});
        let error = error_from(
            422,
            &json!({"message": format!(
                "Job.batch \"once\" is invalid: spec.template: Invalid value: {value}: field is immutable"
            )}),
        );
        assert_eq!(
            error,
            Error::ImmutableField {
                fields: Vec::new(),
                is_only_cause: true,
                message: "Job.batch \"once\" is invalid: spec.template: Invalid value: …: field is immutable"
                    .into()
            }
        );
    }

    #[test]
    fn a_value_of_the_wrong_type_in_a_secret_is_redacted_and_its_path_is_retained() {
        let begin = "failed to create typed patch object (shop/db; /v1, Kind=Secret): ";
        let got = "expected string, got &value.valueUnstructured";
        let message = format!(
            "{begin}errors:\n  .stringData.pin: {got}{{Value:4711}}\n  .stringData.all: {got}{{Value:map[string]interface {{}}{{\"a\":\"}}hunter2\"}}}}"
        );
        let error = error_from(500, &json!({"message": message}));
        let shown = format!("{begin}errors:\n  .stringData.pin: {got}…\n  .stringData.all: {got}…");
        assert_eq!(error, Error::Invalid(shown));
    }

    #[test]
    fn p14_every_immutable_field_is_named() {
        let cause = |field: &str, message: &str| json!({"field": field, "message": message});
        let body = |causes: Vec<Value>| json!({"message": "Job.batch \"once\" is invalid: [… field is immutable, …]", "details": {"causes": causes}});
        let both = [
            cause("spec.completions", "Invalid value: 2: field is immutable"),
            cause("spec.template", "Invalid value: …: field is immutable"),
        ];
        let error = error_from(422, &body(both.to_vec()));
        let Error::ImmutableField { fields, is_only_cause, .. } = &error else { panic!("{error:?}") };
        assert_eq!(
            (fields.as_slice(), *is_only_cause),
            (&["spec.completions".into(), "spec.template".into()][..], true)
        );
        assert!(error.to_string().starts_with("fields spec.completions, spec.template cannot be changed"));
        let invalid = cause("spec.template.spec.containers[0].image", "Required value");
        let mixed = error_from(422, &body(both.into_iter().chain([invalid]).collect()));
        assert!(matches!(mixed, Error::ImmutableField { is_only_cause: false, .. }), "{mixed:?}");
    }

    #[test]
    fn p14_a_claim_that_is_shrunk_has_an_immutable_field() {
        let why = "Forbidden: field can not be less than status.capacity";
        let message =
            format!("PersistentVolumeClaim \"data\" is invalid: spec.resources.requests.storage: {why}");
        let cause = json!({"field": "spec.resources.requests.storage", "message": why});
        let error = error_from(422, &json!({"message": message, "details": {"causes": [cause]}}));
        let Error::ImmutableField { fields, is_only_cause, .. } = &error else { panic!("{error:?}") };
        assert_eq!(
            (fields.as_slice(), *is_only_cause),
            (&["spec.resources.requests.storage".into()][..], true)
        );
    }

    #[test]
    fn p14_a_field_of_the_wrong_type_is_an_invalid_object() {
        let message = "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string";
        assert_eq!(error_from(500, &json!({"message": message})).reason(), Reason::Invalid);
        assert_eq!(
            error_from(500, &json!({"message": "etcdserver: leader changed"})).reason(),
            Reason::ServerFailed
        );
    }

    #[test]
    fn a_missing_namespace_is_distinguished_from_a_missing_object() {
        let error = error_from(
            404,
            &json!({"message": "namespaces \"web\" not found", "details": {"kind": "namespaces", "name": "web"}}),
        );
        assert_eq!(error, Error::NamespaceMissing("web".into()));
        assert_eq!(
            error_from(404, &json!({"message": "configmaps \"a\" not found"})).reason(),
            Reason::NotFound
        );
    }

    #[test]
    fn a_path_that_is_not_served_is_a_missing_kind_and_not_a_missing_object() {
        let error = from_status(StatusCode::NOT_FOUND, b"404 page not found\n", None);
        assert_eq!(error.reason(), Reason::ApiMissing);
        let lamp =
            domain::object::ObjectRef { version: "v1".into(), kind: "Lamp".into(), ..Default::default() };
        assert_eq!(error.clone().with_kind(&lamp, false).to_string(), "the cluster does not serve Lamp (v1)");
        assert_eq!(error.with_kind(&lamp, true).reason(), Reason::DefinitionNotEstablished);
    }

    #[test]
    fn p11_retry_after_is_read_from_body_and_header() {
        let error = error_from(429, &json!({"message": "busy", "details": {"retryAfterSeconds": 7}}));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, "3".parse().unwrap());
        assert_eq!(retry_after(&headers), Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_body_that_is_not_json_is_truncated_and_used_as_text() {
        let error = from_status(StatusCode::BAD_GATEWAY, "x".repeat(5_000).as_bytes(), None);
        assert!(error.to_string().len() < 1_100);
    }
}
