//! `flotilla diagnose`: checks a workload or a cluster, in order of dependency, with a hint for each failure (S3-14).

use clap::Args;
use domain::cluster::{Cluster, ClusterSummary, Connectivity};
use domain::failure_cause::FailureCause;
use domain::placement::Decision;
use domain::release::{ReleaseState, ReleaseView};
use domain::workload::{Intent, WorkloadView};
use serde::Serialize;

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, pluralize, sanitize};
use crate::pages::list_all_pages;
use crate::resources::CommandTarget;
use crate::resources::workloads::describe_failure;

/// Group, version and kind of the records that an agent stores on its cluster.
const RECORD_KIND: (&str, &str, &str) = ("flotilla.dev", "v1alpha1", "AppliedRelease");

/// Check a workload or a cluster, and print what is wrong and what to do
#[derive(Args)]
pub struct DiagnoseArgs {
    /// Name of a workload, or: cluster CLUSTER
    #[arg(value_name = "WORKLOAD")]
    kind_or_name: String,
    /// Name of the cluster, after "cluster"
    name: Option<String>,
    /// Only this cluster of the workload
    #[arg(long, value_name = "CLUSTER", conflicts_with = "name")]
    cluster: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct DiagnosticCheck {
    /// Whether the check passed.
    ok: bool,
    /// Whether it passed because nothing has failed so far, but the result is still open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waiting: bool,
    /// What was checked.
    subject: String,
    /// The observed value.
    observed: String,
    /// What to do; empty if the check passed or nothing can be done.
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
}

impl DiagnosticCheck {
    fn new(ok: bool, subject: impl Into<String>, observed: impl Into<String>) -> Self {
        Self { ok, waiting: false, subject: subject.into(), observed: observed.into(), hint: String::new() }
    }

    /// A check whose result is still open.
    fn new_waiting(subject: impl Into<String>, observed: impl Into<String>) -> Self {
        Self { waiting: true, ..Self::new(true, subject, observed) }
    }

    /// Adds what to do if the check failed.
    fn with_hint(self, hint: impl Into<String>) -> Self {
        let hint = if self.ok { String::new() } else { hint.into() };
        Self { hint, ..self }
    }
}

impl DiagnoseArgs {
    /// The resource that the command names.
    pub fn target(&self) -> CommandTarget {
        match (&*self.kind_or_name, &self.name) {
            ("cluster", Some(name)) => CommandTarget::Cluster(name.clone()),
            (name, _) => CommandTarget::Workload(name.to_owned()),
        }
    }

    /// Runs it. Exits with 1 if any check failed.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let checks = match (&*self.kind_or_name, self.name.as_deref()) {
            ("cluster", Some(name)) => check_cluster(remote, name).await?,
            (name, None) => check_workload(remote, name, self.cluster.as_deref()).await?,
            (what, Some(_)) => {
                return Err(Failure::usage(
                    format!("{what:?} can't be diagnosed."),
                    "Write \"flotilla diagnose WORKLOAD\" or \"flotilla diagnose cluster CLUSTER\".",
                ));
            }
        };
        if self.output.format.is_machine() {
            out.print_value(&checks, self.output.format)?;
        } else {
            for check in &checks {
                out.print_line(&format_check(check))?;
            }
        }
        Ok(if checks.iter().all(|check| check.ok) { ExitStatus::Success } else { ExitStatus::Failed })
    }
}

fn format_check(check: &DiagnosticCheck) -> String {
    let word = match (check.ok, check.waiting) {
        (false, _) => "FAIL",
        (true, true) => "wait",
        (true, false) => "ok  ",
    };
    let mut text = format!("{word} {}: {}", sanitize(&check.subject), sanitize(&check.observed));
    if !check.hint.is_empty() {
        text.push_str(&format!("\n     do: {}", sanitize(&check.hint)));
    }
    text
}

async fn check_cluster(remote: &ServerConnection, name: &str) -> Result<Vec<DiagnosticCheck>, Failure> {
    let summary = remote.client.get_cluster(name).await?;
    let releases =
        list_all_pages(async |query| remote.client.list_cluster_releases(name, &query).await).await?;
    let mut checks = cluster_checks(&summary);
    let wrong = releases.iter().filter(|release| needs_attention(release));
    checks.extend(wrong.flat_map(release_checks));
    if releases.iter().all(|release| !needs_attention(release)) {
        checks.push(DiagnosticCheck::new(
            true,
            "workloads",
            format!("{} of {} need no attention", releases.len(), releases.len()),
        ));
    }
    Ok(checks)
}

fn api_server_check(cluster: &Cluster) -> DiagnosticCheck {
    let observed = match &cluster.api_server_outage {
        Some(outage) => {
            format!(
                "does not respond to the agent for {}: {}",
                clock::format_age(outage.since, clock::now()),
                outage.message
            )
        }
        None if cluster.connectivity == Connectivity::Offline => {
            "unknown while the agent does not report".to_owned()
        }
        None => "responds to the agent".to_owned(),
    };
    let responds = cluster.api_server_outage.is_none() && cluster.connectivity != Connectivity::Offline;
    DiagnosticCheck::new(responds, "API server", observed)
        .with_hint("Check the API server and the network between it and the agent; what was published is applied once it responds.")
}

/// The checks of a cluster: registered, agent online, record kind installed, facts reported, schedulable.
fn cluster_checks(ClusterSummary { cluster, .. }: &ClusterSummary) -> Vec<DiagnosticCheck> {
    let name = &cluster.name;
    let seen = cluster
        .last_seen
        .map_or_else(|| "never".to_owned(), |at| format!("{} ago", clock::format_age(at, clock::now())));
    let facts = &cluster.facts;
    let (group, version, kind) = RECORD_KIND;
    let record = match facts.serves(group, version, kind) {
        Some(true) => (true, "installed"),
        Some(false) => (false, "not installed"),
        // The list of clusters omits the kinds; an agent starts only after it has installed its own.
        None if cluster.last_seen.is_some() => (true, "installed by the agent before it first reported"),
        None => (false, "unknown"),
    };
    vec![
        DiagnosticCheck::new(true, format!("cluster {name}"), format!("registered {}", cluster.created_at)),
        DiagnosticCheck::new(cluster.connectivity != Connectivity::Offline, "agent", format!("{}, last seen {seen}", cluster.connectivity.as_str()))
            .with_hint("Check that its pod runs (kubectl get pods -n flotilla-agent) and can connect to the hub; the status of the cluster is the last known one."),
        api_server_check(cluster),
        DiagnosticCheck::new(record.0, format!("record kind {kind} ({group}/{version})"), record.1)
            .with_hint("The agent installs it when it starts; it needs permission to create custom resource definitions."),
        DiagnosticCheck::new(!facts.kubernetes_version.is_empty(), "facts", match facts.kubernetes_version.as_str() {
            "" => "not reported yet".to_owned(),
            version => format!("Kubernetes {version}"),
        })
        .with_hint("They arrive with the first report; if they are missing, see the agent's log."),
        DiagnosticCheck::new(cluster.schedulable, "schedulable", if cluster.schedulable { "yes" } else { "cordoned" })
            .with_hint(format!("flotilla cluster uncordon {name}")),
    ]
}

async fn check_workload(
    remote: &ServerConnection,
    name: &str,
    only: Option<&str>,
) -> Result<Vec<DiagnosticCheck>, Failure> {
    let view = remote.client.get_workload(name).await?;
    let decision = remote.client.get_placement_decision(name).await?;
    let mut checks = workload_checks(&view, &decision);
    let releases = list_all_pages(async |query| remote.client.list_releases(name, &query).await).await?;
    let mut healthy = 0;
    for release in releases.iter().filter(|release| only.is_none_or(|only| release.cluster_name == only)) {
        if needs_attention(release) {
            let full = remote.client.get_release(name, &release.cluster_name).await?;
            checks.extend(release_checks(&full));
        } else if let Some(check) = waiting_check(release) {
            checks.push(check);
        } else {
            healthy += 1;
        }
    }
    if healthy > 0 {
        checks.push(DiagnosticCheck::new(true, "clusters", format!("{healthy} need no attention")));
    }
    Ok(checks)
}

fn workload_checks(view: &WorkloadView, decision: &Decision) -> Vec<DiagnosticCheck> {
    let name = &view.workload.name;
    let published = view.workload.intent == Intent::Published;
    let (selected, all) = (decision.selected().count(), decision.evaluations.len());
    let hint = match all {
        0 => {
            "No cluster is registered yet: the page Clusters of the console shows how to add one.".to_owned()
        }
        _ => format!("\"flotilla explain placement {name}\" explains each cluster."),
    };
    let mut checks = vec![
        DiagnosticCheck::new(published, format!("workload {name}"), view.phase.label())
            .with_hint(format!("flotilla publish {name} --wait")),
        DiagnosticCheck::new(selected > 0, "placement", format!("selects {selected} of {all} clusters"))
            .with_hint(hint),
    ];
    let failures = view.failures.iter();
    checks.extend(failures.map(|failure| DiagnosticCheck::new(false, "server", describe_failure(failure))));
    checks
}

/// Whether the release needs attention: it fails, has no contact, has drifted, or its removal is stuck.
fn needs_attention(release: &ReleaseView) -> bool {
    let state = release.state;
    state.is_failing()
        || matches!(
            state,
            ReleaseState::Unknown | ReleaseState::Drifted | ReleaseState::Terminating | ReleaseState::Stale
        )
}

/// What a release waits for that needs no attention so far; `None` if it waits for nothing.
fn waiting_check(release: &ReleaseView) -> Option<DiagnosticCheck> {
    let on = format!("{} on {}", release.workload_name, release.cluster_name);
    let reach = release.release.connectivity();
    if reach != Connectivity::Online {
        let observed = format!(
            "{} when its cluster last reported; {}. \"flotilla diagnose cluster {}\" shows more",
            release.state.as_str(),
            reach.as_str(),
            release.cluster_name
        );
        return Some(DiagnosticCheck::new_waiting(on, observed));
    }
    let is_settled = matches!(
        release.state,
        ReleaseState::Healthy
            | ReleaseState::NotAssessed
            | ReleaseState::Removed
            | ReleaseState::Orphaned
            | ReleaseState::Abandoned
    );
    let observed = format!("{}: {}", release.state.as_str(), release.message);
    (!is_settled).then(|| DiagnosticCheck::new_waiting(on, observed))
}

/// The state of a release with its reason, then every object with a problem.
fn release_checks(view: &ReleaseView) -> Vec<DiagnosticCheck> {
    let on = format!("{} on {}", view.workload_name, view.cluster_name);
    let mut observed = format!("{}: {}", view.state.as_str(), view.message);
    let mut hint = String::new();
    if let Some(stage) = view.release.stages().current() {
        observed = format!("{observed} (stage {}, {})", stage.name.label(), stage.state.as_str());
        if let Some(reason) = stage.state.reason() {
            let next = reason.next_retry.map_or_else(
                || "it continues on the next change".to_owned(),
                |at| format!("next retry at {at}"),
            );
            let tried = match reason.attempts as usize {
                0 => String::new(),
                attempts => format!(" after {attempts} {}", pluralize(attempts, "attempt")),
            };
            hint = format!("{}{tried}; {next}.", reason.reason);
        }
    }
    let mut checks = vec![DiagnosticCheck::new(false, on, observed).with_hint(hint)];
    for resource in view.resources.iter().filter(|one| one.problem.is_some() || !one.causes.is_empty()) {
        let problem = resource.problem.as_ref();
        let text = problem.map(|problem| format!("{}: {}", problem.code, problem.message));
        let observed = text.into_iter().chain(resource.causes.iter().cloned()).collect::<Vec<_>>().join("; ");
        let remedy = resource.failure_causes.first().and_then(FailureCause::remedy).unwrap_or_default();
        let hint = problem.map_or_else(|| remedy.to_owned(), |problem| problem.hint.clone());
        checks.push(DiagnosticCheck::new(false, resource.object.to_string(), observed).with_hint(hint));
    }
    checks
}

#[cfg(test)]
mod tests {
    use domain::cluster::{ApiResource, ApiServerOutage, ClusterFacts, ClusterKind};
    use domain::rollup::ReleaseCounts;
    use domain::{ClusterId, Timestamp};

    use super::*;

    fn cluster_summary(change: impl Fn(&mut Cluster)) -> ClusterSummary {
        let (group, version, kind) = RECORD_KIND;
        let api = ApiResource {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            namespaced: false,
            denied: false,
        };
        let mut cluster = Cluster {
            facts: ClusterFacts {
                kubernetes_version: "v1.34.0".into(),
                apis: vec![api],
                ..ClusterFacts::default()
            },
            connectivity: Connectivity::Online,
            last_seen: Some(Timestamp::from_millis(1)),
            ..Cluster::new(
                ClusterId::from_parts(1, 1),
                "eu-1",
                ClusterKind::Simulated,
                Timestamp::from_millis(0),
            )
        };
        change(&mut cluster);
        ClusterSummary {
            cluster,
            counts: ReleaseCounts::default(),
            conditions: Vec::new(),
            pending_facts: Vec::new(),
            agent: None,
            suspension: None,
        }
    }

    fn failed_subjects(change: impl Fn(&mut Cluster)) -> Vec<String> {
        let checks = cluster_checks(&cluster_summary(change));
        assert!(
            checks.iter().all(|check| check.ok == check.hint.is_empty()),
            "every failed check has a hint"
        );
        checks.into_iter().filter(|check| !check.ok).map(|check| check.subject).collect()
    }

    #[test]
    fn s3_14_a_cluster_is_checked_from_its_registration_to_its_agent_and_its_record_kind() {
        assert_eq!(failed_subjects(|_| {}), Vec::<String>::new());
        assert_eq!(
            failed_subjects(|cluster| cluster.connectivity = Connectivity::Offline),
            ["agent", "API server"]
        );
        let down = |cluster: &mut Cluster| {
            let since = Timestamp::from_millis(1);
            cluster.api_server_outage =
                Some(ApiServerOutage { since, message: "connection refused".to_owned() });
        };
        assert_eq!(failed_subjects(down), ["API server"]);
        let without = |cluster: &mut Cluster| cluster.facts.apis[0].kind = "Other".into();
        assert_eq!(failed_subjects(without), ["record kind AppliedRelease (flotilla.dev/v1alpha1)"]);
        assert_eq!(failed_subjects(|cluster| cluster.schedulable = false), ["schedulable"]);
        let never = |cluster: &mut Cluster| {
            cluster.connectivity = Connectivity::Offline;
            cluster.last_seen = None;
            cluster.facts = ClusterFacts::default();
        };
        assert_eq!(failed_subjects(never).len(), 4);
    }
}
