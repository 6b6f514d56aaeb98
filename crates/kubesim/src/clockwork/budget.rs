//! PodDisruptionBudgets and ResourceQuotas: numbers that follow the pods.

use std::time::Duration;

use serde_json::Value;

use super::conditions::{self, Condition};
use super::{Works, pods};
use crate::object::{self, at, int, put};
use crate::selector::LabelSelector;

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let kind = works.kind("policy", "PodDisruptionBudget")?;
    let budget = works.sim.store.get(kind.id, key)?;
    let budget = &budget.value;
    let pod_kind = works.kind("", "Pod")?;
    let selector = LabelSelector::of(at(budget, "spec.selector").unwrap_or(&Value::Null));
    let all = works.sim.store.list(pod_kind.id, Some(object::namespace(budget))).0;
    let chosen: Vec<_> =
        all.iter().filter(|p| pods::active(&p.value) && selector.selects(&p.value)).collect();
    let expected = i64::try_from(chosen.len()).unwrap_or(0);
    let healthy = i64::try_from(chosen.iter().filter(|p| pods::ready(&p.value)).count()).unwrap_or(0);
    let desired = match (at(budget, "spec.minAvailable"), at(budget, "spec.maxUnavailable")) {
        (Some(least), _) => pods::share(Some(least), expected, true),
        (None, Some(most)) => expected - pods::share(Some(most), expected, true),
        (None, None) => expected,
    };
    let allowed = (healthy - desired).max(0);
    let now = works.sim.clock.stamp();
    works.status(&kind, budget, |live| {
        put(live, "status.observedGeneration", int(live, "metadata.generation").unwrap_or(1));
        put(live, "status.currentHealthy", healthy);
        put(live, "status.desiredHealthy", desired.max(0));
        put(live, "status.expectedPods", expected);
        put(live, "status.disruptionsAllowed", allowed);
        let (status, reason) =
            if allowed > 0 { (true, "SufficientPods") } else { (false, "InsufficientPods") };
        conditions::set(
            live,
            Condition { kind: "DisruptionAllowed", status, reason, message: "" },
            &now,
            false,
        );
    });
    None
}

/// Writes what of a quota is used.
pub(super) fn quota(works: &mut Works, key: &str) -> Option<Duration> {
    let kind = works.kind("", "ResourceQuota")?;
    let quota = works.sim.store.get(kind.id, key)?;
    let status = crate::admission::quota_status(&works.sim, &quota.value);
    works.status(&kind, &quota.value, |live| live["status"] = status.clone());
    None
}
