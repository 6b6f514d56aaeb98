//! Checks of pods and pod templates.

use std::collections::HashSet;

use serde_json::Value;

use super::metadata::label;
use crate::object::{at, int, list, map, text};
use crate::quantity::Quantity;
use crate::status::Cause;

const POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];

/// Checks the pod spec at `path`; `policies` are the restart policies its owner allows.
pub(super) fn check(object: &Value, path: &str, policies: Option<&[&str]>, causes: &mut Vec<Cause>) {
    let Some(spec) = at(object, path) else {
        causes.push(Cause::required(format!("{path}.containers"), ""));
        return;
    };
    let policy = text(spec, "restartPolicy");
    let allowed = policies.unwrap_or(&POLICIES);
    if !allowed.contains(&policy) {
        causes.push(Cause::unsupported(format!("{path}.restartPolicy"), &policy.into(), allowed));
    }
    if list(spec, "containers").is_empty() && at(spec, "containers").is_some() {
        causes.push(Cause::required(format!("{path}.containers"), ""));
    }
    let volumes: HashSet<&str> = list(spec, "volumes").iter().map(|v| text(v, "name")).collect();
    // A StatefulSet's claims become volumes of its pods.
    let claims: HashSet<&str> =
        list(object, "spec.volumeClaimTemplates").iter().map(|c| text(c, "metadata.name")).collect();
    let mut names = HashSet::new();
    for kind in ["initContainers", "containers"] {
        for (index, container) in list(spec, kind).iter().enumerate() {
            let field = format!("{path}.{kind}[{index}]");
            let name = text(container, "name");
            if !name.is_empty() && !names.insert(name) {
                causes.push(Cause::duplicate(format!("{field}.name"), &name.into()));
            }
            check_container(container, &field, causes);
            for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
                let volume = text(mount, "name");
                if !volumes.contains(volume) && !claims.contains(volume) {
                    causes.push(Cause {
                        reason: "FieldValueNotFound",
                        message: format!("Not found: \"{volume}\""),
                        field: format!("{field}.volumeMounts[{index}].name"),
                    });
                }
            }
        }
    }
}

fn check_container(container: &Value, field: &str, causes: &mut Vec<Cause>) {
    let name = text(container, "name");
    if !name.is_empty() && (!label(name) || name.len() > 63) {
        let detail = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
            start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
            '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
        causes.push(Cause::invalid(format!("{field}.name"), &name.into(), detail));
    }
    let image = text(container, "image");
    if image.is_empty() {
        causes.push(Cause::required(format!("{field}.image"), ""));
    } else if image.trim() != image {
        causes.push(Cause::invalid(
            format!("{field}.image"),
            &image.into(),
            "must not have leading or trailing whitespace",
        ));
    }
    let policy = text(container, "imagePullPolicy");
    const PULL: [&str; 3] = ["Always", "IfNotPresent", "Never"];
    if !PULL.contains(&policy) {
        causes.push(Cause::unsupported(format!("{field}.imagePullPolicy"), &policy.into(), &PULL));
    }
    for (index, port) in list(container, "ports").iter().enumerate() {
        if let Some(number) = int(port, "containerPort").filter(|p| !(1..=65535).contains(p)) {
            let detail = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(
                format!("{field}.ports[{index}].containerPort"),
                &number.into(),
                detail,
            ));
        }
    }
    for (resource, limit) in map(container, "resources.limits").into_iter().flatten() {
        let request = map(container, "resources.requests").and_then(|r| r.get(resource));
        let number = |v: &Value| v.as_str().and_then(Quantity::parse);
        if let Some(request) = request
            && let (Some(asked), Some(most)) = (number(request), number(limit))
            && asked.milli() > most.milli()
        {
            let limit = limit.as_str().unwrap_or("");
            let detail = format!("must be less than or equal to {resource} limit of {limit}");
            causes.push(Cause::invalid(format!("{field}.resources.requests"), request, &detail));
        }
    }
}
