//! Gateway API.

use domain::health::Health;
use serde_json::Value;

use super::object_view::{ObjectView, StatusCondition, conditions};
use super::{degraded, healthy, progressing};

pub(super) fn assess_gateway(view: &ObjectView<'_>) -> Health {
    if let Some(rejected) = view.current_condition("Accepted").filter(|c| c.is_false()) {
        return degraded(rejected.reason_or("NotAccepted"), rejected.message);
    }
    let rejected_listener = view.list("/status/listeners").iter().find_map(|listener| {
        let name = listener["name"].as_str().unwrap_or_default();
        let rejected = find_rejection(view, &listener["conditions"])?;
        Some(degraded(rejected.reason_or(rejected.kind), format!("listener {name}: {}", rejected.message)))
    });
    if let Some(rejected) = rejected_listener {
        return rejected;
    }
    match view.current_condition("Programmed") {
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
        if let Some(rejected) = find_rejection(view, &parent["conditions"]) {
            return degraded(rejected.reason_or(rejected.kind), rejected.message);
        }
        let is_true =
            |kind: &str| current(view, &parent["conditions"]).any(|c| c.kind == kind && c.is_true());
        if !is_true("Accepted") || !is_true("ResolvedRefs") {
            waiting = Some(parent_name(parent));
        }
    }
    match waiting {
        Some(gateway) => {
            progressing("WaitingForGateway", format!("waiting for gateway {gateway} to accept the route"))
        }
        None => healthy(""),
    }
}

/// The conditions that are not about an older generation.
fn current<'a>(
    view: &ObjectView<'_>,
    list: &'a Value,
) -> impl Iterator<Item = StatusCondition<'a>> + use<'a> {
    let generation = view.int("/metadata/generation");
    conditions(list.as_array().map_or(&[][..], Vec::as_slice))
        .filter(move |condition| !condition.is_outdated(generation))
}

fn find_rejection<'a>(view: &ObjectView<'_>, list: &'a Value) -> Option<StatusCondition<'a>> {
    current(view, list).find(|c| matches!(c.kind, "Accepted" | "ResolvedRefs") && c.is_false())
}

fn parent_name(parent: &Value) -> String {
    parent.pointer("/parentRef/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}
