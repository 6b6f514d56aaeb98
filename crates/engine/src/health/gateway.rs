//! Gateway API.

use domain::health::Health;
use serde_json::Value;

use super::object_view::{ObjectView, conditions};
use super::{degraded, healthy, progressing};

pub(super) fn assess_gateway(view: &ObjectView<'_>) -> Health {
    if let Some(rejected) = view.condition("Accepted").filter(|c| c.is_false()) {
        return degraded(rejected.reason_or("NotAccepted"), rejected.message);
    }
    match view.condition("Programmed") {
        Some(programmed) if programmed.is_true() => healthy(""),
        Some(programmed) => progressing(programmed.reason_or("NotProgrammed"), programmed.message),
        None => progressing("NotProgrammed", "waiting for its controller"),
    }
}

pub(super) fn assess_route(view: &ObjectView<'_>) -> Health {
    let parents = view.list("/status/parents");
    if parents.is_empty() {
        return progressing("NoParents", "no gateway has accepted the route yet");
    }
    let mut waiting = None;
    for parent in parents {
        let list = parent["conditions"].as_array().map_or(&[][..], Vec::as_slice);
        for kind in ["Accepted", "ResolvedRefs"] {
            match conditions(list).find(|condition| condition.kind == kind) {
                Some(condition) if condition.is_false() => {
                    return degraded(condition.reason_or(kind), condition.message);
                }
                Some(condition) if condition.is_true() => {}
                _ => waiting = Some(parent_name(parent)),
            }
        }
    }
    match waiting {
        Some(gateway) => {
            progressing("WaitingForGateway", format!("waiting for gateway {gateway} to accept the route"))
        }
        None => healthy(""),
    }
}

fn parent_name(parent: &Value) -> String {
    parent.pointer("/parentRef/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}
