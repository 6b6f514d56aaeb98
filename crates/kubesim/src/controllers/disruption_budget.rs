//! The status of PodDisruptionBudgets and ResourceQuotas.

use std::time::Duration;

use serde_json::Value;

use super::conditions::{self, ConditionUpdate};
use super::{ControllerContext, pods};
use crate::object::{self, i64_at, set_value, value_at};
use crate::selector::LabelRequirements;

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let kind = ctx.builtin_kind("policy", "PodDisruptionBudget")?;
    let budget = ctx.sim.store.get(kind.id, key)?;
    let budget = &budget.value;
    let pod_kind = ctx.builtin_kind("", "Pod")?;
    let selector = LabelRequirements::from_value(value_at(budget, "spec.selector").unwrap_or(&Value::Null));
    let all = ctx.sim.store.list(pod_kind.id, Some(object::namespace(budget))).0;
    let chosen: Vec<_> =
        all.iter().filter(|p| pods::is_active(&p.value) && selector.selects(&p.value)).collect();
    let expected = i64::try_from(chosen.len()).unwrap_or(0);
    let healthy = i64::try_from(chosen.iter().filter(|p| pods::is_ready(&p.value)).count()).unwrap_or(0);
    let desired = match (value_at(budget, "spec.minAvailable"), value_at(budget, "spec.maxUnavailable")) {
        (Some(least), _) => pods::resolve_int_or_percent(Some(least), expected, true),
        (None, Some(most)) => expected - pods::resolve_int_or_percent(Some(most), expected, true),
        (None, None) => expected,
    };
    let allowed = (healthy - desired).max(0);
    let now = ctx.sim.clock.now_rfc3339();
    ctx.update_status(&kind, budget, |live| {
        set_value(live, "status.observedGeneration", i64_at(live, "metadata.generation").unwrap_or(1));
        set_value(live, "status.currentHealthy", healthy);
        set_value(live, "status.desiredHealthy", desired.max(0));
        set_value(live, "status.expectedPods", expected);
        set_value(live, "status.disruptionsAllowed", allowed);
        let (status, reason) =
            if allowed > 0 { (true, "SufficientPods") } else { (false, "InsufficientPods") };
        conditions::set_condition(
            live,
            ConditionUpdate { kind: "DisruptionAllowed", status, reason, message: "" },
            &now,
            false,
        );
    });
    None
}

/// Writes the usage of a ResourceQuota.
pub(super) fn reconcile_quota(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let kind = ctx.builtin_kind("", "ResourceQuota")?;
    let quota = ctx.sim.store.get(kind.id, key)?;
    let status = crate::admission::quota_status(&ctx.sim, &quota.value);
    ctx.update_status(&kind, &quota.value, |live| live["status"] = status.clone());
    None
}
