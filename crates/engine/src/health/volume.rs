//! Volume claims and volumes.

use domain::health::{Health, HealthStatus};

use super::object_view::ObjectView;
use super::{degraded, healthy, progressing, suspended};

pub(super) fn assess_claim(view: &ObjectView<'_>) -> Health {
    match view.text("/status/phase") {
        "Bound" => healthy(""),
        "" | "Pending" => progressing("ClaimPending", "waiting for a volume"),
        "Lost" => degraded("ClaimLost", "its volume is lost"),
        other => unknown(other),
    }
}

pub(super) fn assess_volume(view: &ObjectView<'_>) -> Health {
    match view.text("/status/phase") {
        "Bound" | "Available" => healthy(""),
        "" | "Pending" => progressing("VolumePending", "is being provisioned"),
        "Released" => suspended("VolumeReleased", "its claim is gone; it is not reclaimed yet"),
        "Failed" => degraded("VolumeFailed", view.text("/status/message")),
        other => unknown(other),
    }
}

fn unknown(phase: &str) -> Health {
    Health::new(HealthStatus::Unknown, "UnknownPhase", format!("phase is {phase:?}"))
}
