//! DaemonSets: one pod on every node that fits.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::count;
use super::{Works, events, node, pods};
use crate::object::{self, at, int, put, text};
use crate::store::Stored;

const HASH: &str = "controller-revision-hash";

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let set = works.get("apps", "DaemonSet", key)?;
    let set = &set.value;
    if object::deleting(set) {
        return None;
    }
    let template = pods::template(set);
    let hash = pods::template_hash(&template);
    let node_kind = works.kind("", "Node")?;
    let probe = json!({"spec": template["spec"]});
    let nodes: Vec<String> = works
        .sim
        .store
        .list(node_kind.id, None)
        .0
        .iter()
        .filter(|n| node::selects(&n.value, &probe))
        .map(|n| object::name(&n.value).to_owned())
        .collect();
    let failed = place(works, set, &nodes, &hash);
    let again = report(works, set, &nodes, &hash);
    failed.or(again)
}

fn living(works: &mut Works, set: &Value) -> Vec<Arc<Stored>> {
    works.owned(set, "", "Pod").into_iter().filter(|p| pods::active(&p.value)).collect()
}

fn hash_of(pod: &Value) -> &str {
    object::map(pod, "metadata.labels").and_then(|l| l.get(HASH)?.as_str()).unwrap_or("")
}

/// Makes what is missing, removes what is on no node of the set, replaces old pods a few at a time.
fn place(works: &mut Works, set: &Value, nodes: &[String], hash: &str) -> Option<Duration> {
    let kind = works.kind("", "Pod")?;
    let all = works.owned(set, "", "Pod");
    let on = |node: &str| all.iter().find(|p| text(&p.value, "spec.nodeName") == node);
    for pod in all.iter().filter(|p| !nodes.iter().any(|n| n == text(&p.value, "spec.nodeName"))) {
        works.delete(&kind, &pod.value);
    }
    for node in nodes.iter().filter(|n| on(n).is_none()) {
        let mut pod = pods::from_template(set, &pods::template(set));
        put(&mut pod, "metadata.generateName", format!("{}-", object::name(set)));
        object::place(&mut pod, "metadata.labels")[HASH] = hash.into();
        put(&mut pod, "spec.nodeName", node.as_str());
        let uid = object::uid(set).to_owned();
        if let Err(message) = works.create(&kind, pod) {
            let failures = works.memory.failures.entry(uid).or_default();
            *failures += 1;
            let again = pods::back_off(*failures - 1);
            events::tell(works, set, ("Warning", "FailedCreate"), &format!("Error creating: {message}"));
            return Some(again);
        }
        works.memory.failures.remove(&uid);
    }
    if text(set, "spec.updateStrategy.type") == "OnDelete" {
        return None;
    }
    let total = i64::try_from(nodes.len()).unwrap_or(0);
    let most = pods::share(at(set, "spec.updateStrategy.rollingUpdate.maxUnavailable"), total, true).max(1);
    let ready = i64::try_from(all.iter().filter(|p| pods::ready(&p.value) && pods::active(&p.value)).count())
        .unwrap_or(0);
    let mut room = most - (total - ready);
    for pod in all.iter().filter(|p| pods::active(&p.value) && hash_of(&p.value) != hash) {
        // An old pod that is not ready costs nothing to replace.
        if pods::ready(&pod.value) {
            if room <= 0 {
                continue;
            }
            room -= 1;
        }
        works.delete(&kind, &pod.value);
    }
    None
}

fn report(works: &mut Works, set: &Value, nodes: &[String], hash: &str) -> Option<Duration> {
    let all = living(works, set);
    let counted = pods::count(works, &all, set);
    let number = |n: usize| i64::try_from(n).unwrap_or(0);
    let desired = number(nodes.len());
    let updated = number(all.iter().filter(|p| hash_of(&p.value) == hash).count());
    let kind = works.kind("apps", "DaemonSet")?;
    works.status(&kind, set, |live| {
        put(live, "status.observedGeneration", int(set, "metadata.generation").unwrap_or(1));
        put(live, "status.currentNumberScheduled", number(all.len()).min(desired));
        put(live, "status.desiredNumberScheduled", desired);
        put(live, "status.numberMisscheduled", 0);
        put(live, "status.numberReady", counted.ready);
        count(live, "status.updatedNumberScheduled", updated);
        count(live, "status.numberAvailable", counted.available);
        count(live, "status.numberUnavailable", (desired - counted.available).max(0));
    });
    counted.again
}
