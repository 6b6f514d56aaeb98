//! Ingresses: assigns an address after a delay.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::ControllerContext;
use crate::object::{self, array_at, set_value};

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let ingress = ctx.get_object("networking.k8s.io", "Ingress", key)?;
    let ingress = &ingress.value;
    if object::is_deleting(ingress) || !array_at(ingress, "status.loadBalancer.ingress").is_empty() {
        return None;
    }
    let uid = object::uid(ingress).to_owned();
    let moment = Instant::now() + ctx.sim.options.pod_start;
    let due = *ctx.state.due_times.entry(uid.clone()).or_insert(moment);
    if let Some(left) = ctx.time_until(due) {
        return Some(left);
    }
    ctx.state.due_times.remove(&uid);
    let ip = crate::defaults::format_address("172.20", ctx.sim.next_serial());
    let kind = ctx.builtin_kind("networking.k8s.io", "Ingress")?;
    ctx.update_status(&kind, ingress, |live| {
        set_value(live, "status.loadBalancer.ingress", vec![json!({"ip": ip})])
    });
    None
}
