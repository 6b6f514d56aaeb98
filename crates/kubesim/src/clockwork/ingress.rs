//! Ingresses get their address after a moment.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::Works;
use crate::object::{self, list, put};

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let ingress = works.get("networking.k8s.io", "Ingress", key)?;
    let ingress = &ingress.value;
    if object::deleting(ingress) || !list(ingress, "status.loadBalancer.ingress").is_empty() {
        return None;
    }
    let uid = object::uid(ingress).to_owned();
    let moment = Instant::now() + works.sim.options.pod_start;
    let due = *works.memory.due.entry(uid.clone()).or_insert(moment);
    if let Some(left) = works.until(due) {
        return Some(left);
    }
    works.memory.due.remove(&uid);
    let ip = crate::defaults::address("172.20", works.sim.next());
    let kind = works.kind("networking.k8s.io", "Ingress")?;
    works.status(&kind, ingress, |live| put(live, "status.loadBalancer.ingress", vec![json!({"ip": ip})]));
    None
}
