//! Checks of pods and pod templates.

use std::collections::HashSet;

use serde_json::Value;

use super::metadata::is_rfc1123_label;
use crate::object::{array_at, i64_at, map_at, str_at, value_at};
use crate::quantity::FormattedQuantity;
use crate::status::StatusCause;

const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// Checks the pod spec at `path`; `policies` are the restart policies that its owner allows.
pub(super) fn check_pod_spec(
    object: &Value,
    path: &str,
    policies: Option<&[&str]>,
    causes: &mut Vec<StatusCause>,
) {
    let Some(spec) = value_at(object, path) else {
        causes.push(StatusCause::required(format!("{path}.containers"), ""));
        return;
    };
    let policy = str_at(spec, "restartPolicy");
    let allowed = policies.unwrap_or(&RESTART_POLICIES);
    if !allowed.contains(&policy) {
        causes.push(StatusCause::unsupported(format!("{path}.restartPolicy"), &policy.into(), allowed));
    }
    if array_at(spec, "containers").is_empty() && value_at(spec, "containers").is_some() {
        causes.push(StatusCause::required(format!("{path}.containers"), ""));
    }
    let volumes: HashSet<&str> = array_at(spec, "volumes").iter().map(|v| str_at(v, "name")).collect();
    // A StatefulSet's claim templates become volumes of its pods.
    let claims: HashSet<&str> =
        array_at(object, "spec.volumeClaimTemplates").iter().map(|c| str_at(c, "metadata.name")).collect();
    let mut names = HashSet::new();
    for kind in ["initContainers", "containers"] {
        for (index, container) in array_at(spec, kind).iter().enumerate() {
            let field = format!("{path}.{kind}[{index}]");
            let name = str_at(container, "name");
            if !name.is_empty() && !names.insert(name) {
                causes.push(StatusCause::duplicate(format!("{field}.name"), &name.into()));
            }
            check_container(container, &field, causes);
            for (index, mount) in array_at(container, "volumeMounts").iter().enumerate() {
                let volume = str_at(mount, "name");
                if !volumes.contains(volume) && !claims.contains(volume) {
                    causes.push(StatusCause {
                        reason: "FieldValueNotFound",
                        message: format!("Not found: \"{volume}\""),
                        field: format!("{field}.volumeMounts[{index}].name"),
                    });
                }
            }
        }
    }
}

fn check_container(container: &Value, field: &str, causes: &mut Vec<StatusCause>) {
    let name = str_at(container, "name");
    if !name.is_empty() && (!is_rfc1123_label(name) || name.len() > 63) {
        let detail = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
            start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
            '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        causes.push(StatusCause::invalid(format!("{field}.name"), &name.into(), detail));
    }
    let image = str_at(container, "image");
    if image.is_empty() {
        causes.push(StatusCause::required(format!("{field}.image"), ""));
    } else if image.trim() != image {
        causes.push(StatusCause::invalid(
            format!("{field}.image"),
            &image.into(),
            "must not have leading or trailing whitespace",
        ));
    }
    let policy = str_at(container, "imagePullPolicy");
    const PULL: [&str; 3] = ["Always", "IfNotPresent", "Never"];
    if !PULL.contains(&policy) {
        causes.push(StatusCause::unsupported(format!("{field}.imagePullPolicy"), &policy.into(), &PULL));
    }
    for (index, port) in array_at(container, "ports").iter().enumerate() {
        if let Some(number) = i64_at(port, "containerPort").filter(|p| !(1..=65535).contains(p)) {
            let detail = "must be between 1 and 65535, inclusive";
            causes.push(StatusCause::invalid(
                format!("{field}.ports[{index}].containerPort"),
                &number.into(),
                detail,
            ));
        }
    }
    for (resource, limit) in map_at(container, "resources.limits").into_iter().flatten() {
        let request = map_at(container, "resources.requests").and_then(|r| r.get(resource));
        let number = |v: &Value| v.as_str().and_then(FormattedQuantity::parse);
        if let Some(request) = request
            && let (Some(requested), Some(limit_amount)) = (number(request), number(limit))
            && requested.to_milli() > limit_amount.to_milli()
        {
            let limit = limit.as_str().unwrap_or("");
            let detail = format!("must be less than or equal to {resource} limit of {limit}");
            causes.push(StatusCause::invalid(format!("{field}.resources.requests"), request, &detail));
        }
    }
}
