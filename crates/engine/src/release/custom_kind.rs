//! Objects of custom kinds wait until the definition of their kind is established.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::reconciliation::Reconciliation;
use crate::api::ServedKind;
use crate::error::Error;
use crate::observe::CacheState;

/// Whether the definition of a custom resource is established and its kind is served. If not, the target waits.
pub(super) async fn ensure_established(pass: &mut Reconciliation<'_>, at: usize) -> bool {
    let desired = Arc::clone(&pass.targets[at].desired);
    let Some(resource) = pass.targets[at].kind.clone() else { return false };
    if is_established(pass, &resource) {
        let served =
            pass.cx.discovery.refresh().await.ok().and_then(|kinds| kinds.resolve(&desired.object).cloned());
        if let Some(served) = served {
            let objects = pass.cx.observed.watch_kind(&served);
            if !matches!(objects.wait_until_settled().await, CacheState::NotServed | CacheState::Failing(..))
            {
                pass.targets[at].cache = Some(objects);
                pass.state.object_mut(&desired.object).waiting = None;
                return true;
            }
            pass.cx.observed.remove_ended();
        }
        // Discovery lists the kind shortly after its definition is established; there is no event for it.
        pass.wake_in(Duration::from_millis(50));
    }
    pass.worker.set_waits_for_dependency(true);
    pass.set_waiting(at, Error::DefinitionNotEstablished(desired.object.kind.clone()));
    false
}

/// Makes the objects after the definitions of a chart wait until these are established.
pub(super) fn await_chart_crds(pass: &mut Reconciliation<'_>, group: Range<usize>) {
    for at in group {
        let target = &pass.targets[at];
        let is_definition = target.desired.object.kind == "CustomResourceDefinition";
        if !target.desired.is_chart_crd || !target.applied || !is_definition {
            continue;
        }
        let kind = target.desired.object.name.clone();
        if target.live_object().is_some_and(|live| is_condition_established(&live.value())) {
            continue;
        }
        pass.targets[at].applied = false;
        pass.set_waiting(at, Error::DefinitionNotEstablished(kind));
    }
}

fn is_established(pass: &Reconciliation<'_>, resource: &ServedKind) -> bool {
    let name = format!("{}.{}", resource.plural, resource.group);
    let definition = pass.targets.iter().find_map(|target| {
        let object = &target.desired.object;
        let is_it = object.kind == "CustomResourceDefinition" && object.name == name;
        is_it.then(|| target.live_object()).flatten()
    });
    definition.is_some_and(|live| is_condition_established(&live.value()))
}

fn is_condition_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|c| c["type"] == "Established" && c["status"] == "True")
}
