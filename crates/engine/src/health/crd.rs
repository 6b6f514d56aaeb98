//! Custom resource definitions.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.condition("Terminating").is_some_and(|c| c.is_true()) {
        return progressing("Terminating", "is being removed with its objects");
    }
    if view.list("/status/conditions").is_empty() {
        return progressing("NotEstablishedYet", "waiting to be established");
    }
    if let Some(rejected) = view.condition("NamesAccepted").filter(|c| c.is_false()) {
        return degraded("NamesNotAccepted", rejected.message);
    }
    if let Some(invalid) = view.condition("NonStructuralSchema").filter(|c| c.is_true()) {
        return degraded("NonStructuralSchema", invalid.message);
    }
    match view.condition("Established") {
        Some(established) if established.is_true() => healthy(""),
        Some(established) if established.reason == "Installing" => {
            progressing("Installing", established.message)
        }
        _ => degraded("NotEstablished", "CRD is not established"),
    }
}
