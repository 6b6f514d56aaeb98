//! Services.

use domain::health::Health;

use super::object_view::ObjectView;
use super::{healthy, progressing};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.text("/spec/type") != "LoadBalancer" {
        return healthy("");
    }
    if view.text("/spec/clusterIP").is_empty() {
        return progressing("NoClusterIp", "waiting for a cluster address");
    }
    if has_address(view) {
        return healthy("");
    }
    progressing("NoLoadBalancerAddress", "waiting for load balancer address")
}

/// Whether `status.loadBalancer` has an address.
pub(super) fn has_address(view: &ObjectView<'_>) -> bool {
    let filled = |field: &serde_json::Value| field.as_str().is_some_and(|text| !text.is_empty());
    view.list("/status/loadBalancer/ingress")
        .iter()
        .any(|entry| filled(&entry["ip"]) || filled(&entry["hostname"]))
}
