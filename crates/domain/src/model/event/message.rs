//! The sentences of events, built from their details.

use super::EventSubject;
use super::detail::{ClusterChanges, DriftDetail, EditAction, EventDetail};
use super::limits::read_mark;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Connectivity, PendingFact, format_pending_facts};
use crate::model::placement::REMOVAL_NOTICE_MINUTES;
use crate::model::policy::DeletionPolicy;
use crate::model::report::{DriftOutcome, DriftedField};
use crate::text::name_list::join_first;

/// Most names of a list in a sentence; the others are counted.
const MAX_NAMES: usize = 10;

impl EventDetail {
    /// What happened to `subject` at `at`, as a sentence for people.
    pub fn message(&self, subject: &EventSubject, at: Timestamp) -> String {
        let (name, cluster) = (subject.workload_name(), subject.cluster_name());
        match self {
            Self::Published { revision, message: comment, forced } => {
                published_message(name, *revision, comment, forced)
            }
            Self::RolledBack { revision } => {
                format!("The draft of {name} was rolled back to revision {revision}.")
            }
            Self::SyncRequested { clusters } => {
                let noun = if *clusters == 1 { "cluster" } else { "clusters" };
                format!("A sync of {name} was requested on {clusters} {noun}.")
            }
            Self::Override { name: of, action } => format!("Override {of} of {name} was {}.", action.verb()),
            Self::Placement { selected, total } => {
                format!("{name} is placed on {selected} of {total} clusters.")
            }
            Self::RemovalsPending { clusters } => removals_message(name, clusters),
            Self::RemovalsWithheld { clusters } => format!(
                "{name} no longer matches {clusters} clusters at once. Nothing was removed; publish it again to remove it there."
            ),
            Self::RemovalsCancelled { clusters } => {
                let clusters = join_first(clusters, MAX_NAMES);
                format!("The removal of {name} from {clusters} was cancelled until the next publish.")
            }
            Self::Rollout { revision, change } => change.message(name, *revision, at),
            Self::CleanedUp { deletion, since } => {
                cleanup_message((name, cluster), *deletion, &since.format_age(at))
            }
            Self::ReleaseState { from, to, message: reason } => {
                let reason = if reason.is_empty() { String::new() } else { format!(" {reason}") };
                format!("{name} on {cluster}: {} → {}.{reason}", from.as_str(), to.as_str())
            }
            Self::Drift(drift) => drift_message(drift, cluster),
            Self::Connectivity { from, to, last_seen } => {
                let age = last_seen.map_or_else(|| "an unknown time".to_owned(), |seen| seen.format_age(at));
                connectivity_message(cluster, (*from, *to), &age)
            }
            Self::ApiServer { responds, message } => api_server_message(cluster, *responds, message),
            Self::KubernetesVersion { to, .. } => format!("Cluster {cluster} runs Kubernetes {to}."),
            Self::FactsPending { facts } => pending_facts_message(cluster, facts),
            Self::FactsConfirmed { facts } => confirmed_facts_message(cluster, facts),
            Self::ClusterChanges(changes) => {
                format!("Cluster {cluster} was changed: {}.", list_changes(changes))
            }
            Self::ClusterGroup { name, action, joined, left } => group_message(name, *action, (joined, left)),
            Self::JoinRequested { name, fingerprint } => {
                format!("An agent requested to join as {name}; its key is {fingerprint}.")
            }
            Self::JoinAccepted { fingerprint, facts } => accepted_message(cluster, fingerprint, facts),
            Self::JoinRejected { name } => {
                format!("The agent that requested to join as {name} was rejected.")
            }
            Self::AgentConnected { version } => {
                format!("The agent of cluster {cluster} connected with version {version}.")
            }
            Self::CertificateRenewed { not_after } => {
                format!("The certificate of the agent of cluster {cluster} was renewed until {not_after}.")
            }
            Self::ClusterDeleted { orphaned: 0 } => format!("Cluster {cluster} was deleted."),
            Self::ClusterDeleted { orphaned } => {
                format!(
                    "Cluster {cluster} was deleted; {orphaned} of its workloads are left running until it joins again."
                )
            }
            Self::JoinTokenCreated { id, cluster_name, max_uses, auto_accept } => {
                let mode = if *auto_accept { " and be accepted automatically" } else { "" };
                let clusters = describe_token_use(cluster_name.as_deref(), *max_uses);
                format!("A token was created for {clusters} to join{mode}: {id}.")
            }
            Self::JoinTokenRevoked { id } => format!("Join token {id} was revoked."),
        }
    }
}

fn published_message(name: &str, revision: u32, comment: &str, forced: &[String]) -> String {
    let comment = if comment.is_empty() { String::new() } else { format!(": {comment}") };
    let forced = match forced {
        [] => String::new(),
        [one] => format!("; {one} was forced"),
        many => format!("; {} were forced", many.join(", ")),
    };
    format!("{name} revision {revision} was published{forced}{comment}.")
}

fn pending_facts_message(cluster: &str, facts: &[PendingFact]) -> String {
    if facts.is_empty() {
        return format!("Cluster {cluster} reports its confirmed facts again.");
    }
    format!(
        "Cluster {cluster} reports {}. Placement uses the confirmed facts until a user confirms the reported ones.",
        format_pending_facts(facts)
    )
}

fn confirmed_facts_message(cluster: &str, facts: &[PendingFact]) -> String {
    format!("The facts that cluster {cluster} reports were confirmed: {}.", list_confirmed_facts(facts))
}

fn accepted_message(cluster: &str, fingerprint: &str, facts: &[PendingFact]) -> String {
    let confirmed = if facts.is_empty() {
        String::new()
    } else {
        format!(" The facts that it reports were confirmed: {}.", list_confirmed_facts(facts))
    };
    format!("Cluster {cluster} was accepted; its agent's key is {fingerprint}.{confirmed}")
}

fn list_confirmed_facts(facts: &[PendingFact]) -> String {
    let describe = |fact: &PendingFact| {
        format!("{} {}, before {}", fact.fact.as_str(), fact.reported_text(), fact.confirmed_text())
    };
    facts.iter().map(describe).collect::<Vec<_>>().join("; ")
}

impl EditAction {
    const fn verb(self) -> &'static str {
        match self {
            Self::Saved => "saved",
            Self::Deleted => "deleted",
        }
    }
}

impl DriftDetail {
    /// The field manager, or that it is unknown.
    pub fn actor(&self) -> &str {
        if self.manager.is_empty() { "an unknown client" } else { &self.manager }
    }
}

/// What was done to a group, and which clusters joined or left it.
fn group_message(name: &str, action: EditAction, (joined, left): (&[String], &[String])) -> String {
    let list = |names: &[String]| join_first(names, MAX_NAMES);
    let mut message = format!("Cluster group {name} was {}", action.verb());
    if !joined.is_empty() {
        message.push_str(&format!("; {} joined", list(joined)));
    }
    if !left.is_empty() {
        message.push_str(&format!("; {} left", list(left)));
    }
    message + "."
}

fn cleanup_message((workload, cluster): (&str, &str), deletion: DeletionPolicy, age: &str) -> String {
    let what = match deletion {
        DeletionPolicy::Orphan => "was orphaned",
        DeletionPolicy::Foreground | DeletionPolicy::SelectivelyOrphan => "was cleaned up",
    };
    format!("{workload} {what} on {cluster}, {age} after it was given up there.")
}

fn api_server_message(cluster: &str, responds: bool, error: &str) -> String {
    if responds {
        format!("The API server of cluster {cluster} responds to its agent again.")
    } else {
        format!("The API server of cluster {cluster} does not respond to its agent: {error}")
    }
}

fn removals_message(workload: &str, clusters: &[String]) -> String {
    let (clusters, minutes) = (join_first(clusters, MAX_NAMES), REMOVAL_NOTICE_MINUTES);
    format!(
        "{workload} no longer matches {clusters} and will be removed in {minutes} minutes. Undo the change or cancel the removal, or publish to remove it now."
    )
}

fn describe_token_use(cluster_name: Option<&str>, max_uses: u32) -> String {
    match (cluster_name, max_uses) {
        (Some(name), _) => format!("cluster {name}"),
        (None, 1) => "one cluster".to_owned(),
        (None, uses) => format!("{uses} clusters"),
    }
}

/// The object, the fields and their field manager (S0-12). A deleted object has no managed fields, so the field manager is
/// known only for edits.
fn drift_message(drift: &DriftDetail, cluster: &str) -> String {
    let object = &drift.object;
    let change = match drift.fields.as_slice() {
        [] => format!("{object} was deleted on {cluster}"),
        fields => format!(
            "{object} on {cluster}: {} changed by {}",
            list_fields(fields, &drift.values),
            drift.actor()
        ),
    };
    let outcome = match drift.outcome {
        DriftOutcome::Found => "; it was not reverted.",
        DriftOutcome::Healed => " and reverted.",
        DriftOutcome::Contested => "; it was reverted several times and changed again each time.",
    };
    let more = match drift.more {
        0 => String::new(),
        more => format!(" And {more} more changes."),
    };
    format!("{change}{outcome}{more}")
}

/// The paths, each with a short change: `/spec/replicas 2 → 5`.
fn list_fields(paths: &[String], values: &[DriftedField]) -> String {
    let describe = |path: &String| {
        let change = values.iter().find(|field| field.path == *path).and_then(DriftedField::short_change);
        change.map_or_else(|| path.clone(), |change| format!("{path} {change}"))
    };
    let described: Vec<String> = paths.iter().map(describe).collect();
    // The last path of a list that was cut before counts those left out.
    match paths.last().and_then(|last| read_mark(last)) {
        Some(counted) if described.len() > MAX_NAMES => {
            let omitted = (described.len() - MAX_NAMES - 1).saturating_add(counted);
            format!("{} and {omitted} more", described[..MAX_NAMES].join(", "))
        }
        _ => join_first(&described, MAX_NAMES),
    }
}

fn connectivity_message(name: &str, (from, to): (Connectivity, Connectivity), age: &str) -> String {
    match (to, from) {
        (Connectivity::Online, Connectivity::Offline) => format!("Cluster {name} is online."),
        (Connectivity::Online, _) => format!("Cluster {name} is online again."),
        (Connectivity::Late, _) => format!("Cluster {name} is late: no heartbeat for {age}."),
        (Connectivity::Offline, _) => {
            format!("Cluster {name} is offline: no heartbeat for {age}. It catches up when it reconnects.")
        }
    }
}

/// `env=prod, -legacy, taints, unschedulable`.
fn list_changes(changes: &ClusterChanges) -> String {
    let mut parts: Vec<String> =
        changes.set_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.extend(changes.removed_labels.iter().map(|key| format!("-{key}")));
    parts.extend(changes.annotations.iter().map(|key| format!("annotation {key}")));
    if changes.values {
        parts.push("values".to_owned());
    }
    if changes.taints.is_some() {
        parts.push("taints".to_owned());
    }
    if changes.owners {
        parts.push("owners".to_owned());
    }
    if let Some(schedulable) = changes.schedulable {
        parts.push(if schedulable { "schedulable" } else { "unschedulable" }.to_owned());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kubernetes::id::{ClusterId, WorkloadId};

    #[test]
    fn every_message_names_the_workload_except_that_of_drift() {
        let subject = EventSubject {
            workload: Some((WorkloadId::from_parts(1, 1), "storefront".to_owned())),
            cluster: Some((ClusterId::from_parts(1, 1), "edge-1".to_owned())),
            release: None,
            object: None,
        };
        let object = json!({ "version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "settings" });
        let details = [
            json!({ "type": "published", "revision": 1 }),
            json!({ "type": "rolledBack", "revision": 1 }),
            json!({ "type": "syncRequested", "clusters": 3 }),
            json!({ "type": "override", "name": "eu", "action": "saved" }),
            json!({ "type": "placement", "selected": 2, "total": 3 }),
            json!({ "type": "removalsPending", "clusters": ["edge-1"] }),
            json!({ "type": "removalsWithheld", "clusters": 5 }),
            json!({ "type": "removalsCancelled", "clusters": ["edge-1"] }),
            json!({ "type": "releaseState", "from": "Queued", "to": "Healthy" }),
            json!({ "type": "drift", "object": object, "fields": ["/data/colour"], "outcome": "healed" }),
            json!({ "type": "drift", "object": object, "outcome": "found" }),
        ];
        for detail in details {
            let detail: EventDetail = serde_json::from_value(detail).unwrap();
            let message = detail.message(&subject, Timestamp::from_millis(0));
            let is_drift = matches!(detail, EventDetail::Drift(_));
            assert_eq!(message.contains("storefront"), !is_drift, "{message}");
        }
    }
}
