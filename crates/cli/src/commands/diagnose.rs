//! `flotilla diagnose`: what is wrong with a workload or a cluster, from the ground up, each with what to do (S3-14).

use clap::Args;
use domain::cluster::{ClusterSummary, Reach};
use domain::page::{ListQuery, MAX_LIMIT};
use domain::placement::Decision;
use domain::release::{ReleaseView, State};
use domain::workload::{Intent, WorkloadView};
use serde::Serialize;

use super::Subject;
use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Output, clean};
use crate::remote::Remote;

/// Kind of the record that an agent keeps on its cluster.
const RECORD: (&str, &str, &str) = ("flotilla.dev", "v1alpha1", "AppliedRelease");

/// Say what is wrong with a workload or a cluster, from the ground up, and what to do
#[derive(Args)]
pub struct Diagnose {
    /// Name of a workload, or: cluster CLUSTER
    #[arg(value_name = "WORKLOAD")]
    what: String,
    /// Name of the cluster, after the word cluster
    name: Option<String>,
    /// Only this cluster of the workload
    #[arg(long, value_name = "CLUSTER", conflicts_with = "name")]
    cluster: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    /// Whether it is as it should be.
    ok: bool,
    /// What was looked at.
    subject: String,
    /// What was seen.
    seen: String,
    /// What to do; empty if nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
}

impl Check {
    fn new(ok: bool, subject: impl Into<String>, seen: impl Into<String>) -> Self {
        Self { ok, subject: subject.into(), seen: seen.into(), hint: String::new() }
    }

    /// What to do if it is not as it should be.
    fn or(self, hint: impl Into<String>) -> Self {
        let hint = if self.ok { String::new() } else { hint.into() };
        Self { hint, ..self }
    }
}

impl Diagnose {
    /// What it is about.
    pub fn subject(&self) -> Subject {
        match (&*self.what, &self.name) {
            ("cluster", Some(name)) => Subject::Cluster(name.clone()),
            (name, _) => Subject::Workload(name.to_owned()),
        }
    }

    /// Runs it. Ends with 1 if anything is not as it should be.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let checks = match (&*self.what, self.name.as_deref()) {
            ("cluster", Some(name)) => cluster(remote, name).await?,
            (name, None) => workload(remote, name, self.cluster.as_deref()).await?,
            (what, Some(_)) => {
                return Err(Failure::usage(
                    format!("{what:?} is nothing that can be diagnosed."),
                    "Write \"flotilla diagnose WORKLOAD\" or \"flotilla diagnose cluster CLUSTER\".",
                ));
            }
        };
        if self.output.format.is_machine() {
            out.value(&checks, self.output.format)?;
        } else {
            for check in &checks {
                out.line(&told(check))?;
            }
        }
        Ok(if checks.iter().all(|check| check.ok) { Exit::Done } else { Exit::Failed })
    }
}

fn told(check: &Check) -> String {
    let word = if check.ok { "ok  " } else { "FAIL" };
    let mut text = format!("{word} {}: {}", clean(&check.subject), clean(&check.seen));
    if !check.hint.is_empty() {
        text.push_str(&format!("\n     do: {}", clean(&check.hint)));
    }
    text
}

async fn cluster(remote: &Remote, name: &str) -> Result<Vec<Check>, Failure> {
    let summary = remote.client.cluster_get(name).await?;
    let query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let releases = remote.client.cluster_releases(name, &query).await?.items;
    let mut checks = of_cluster(&summary);
    let wrong = releases.iter().filter(|release| is_wrong(release));
    checks.extend(wrong.flat_map(of_release));
    if releases.iter().all(|release| !is_wrong(release)) {
        checks.push(Check::new(
            true,
            "workloads",
            format!("{} of {} need nobody", releases.len(), releases.len()),
        ));
    }
    Ok(checks)
}

/// The list one goes through: registered, agent running, its record kind installed.
fn of_cluster(ClusterSummary { cluster, .. }: &ClusterSummary) -> Vec<Check> {
    let name = &cluster.name;
    let seen =
        cluster.last_seen.map_or_else(|| "never".to_owned(), |at| format!("{} ago", at.age(clock::now())));
    let facts = &cluster.facts;
    let (group, version, kind) = RECORD;
    let record = match facts.serves(group, version, kind) {
        Some(true) => (true, "installed"),
        Some(false) => (false, "not installed"),
        // The list of clusters leaves the kinds out; an agent does not begin before it has installed its own.
        None if cluster.last_seen.is_some() => (true, "installed by the agent before it first reported"),
        None => (false, "not known"),
    };
    vec![
        Check::new(true, format!("cluster {name}"), format!("registered {}", cluster.created_at)),
        Check::new(cluster.reach != Reach::Offline, "agent", format!("{}, last heard from {seen}", cluster.reach.word()))
            .or("See whether its pod runs (kubectl get pods -n flotilla-system) and can reach the hub; what is shown of the cluster is the last known."),
        Check::new(record.0, format!("record kind {kind} ({group}/{version})"), record.1)
            .or("The agent installs it when it starts; it needs the right to create custom resource definitions."),
        Check::new(!facts.kubernetes_version.is_empty(), "facts", match facts.kubernetes_version.as_str() {
            "" => "not reported yet".to_owned(),
            version => format!("Kubernetes {version}"),
        })
        .or("They come with the first report; see the agent's log if they do not."),
        Check::new(cluster.schedulable, "schedulable", if cluster.schedulable { "yes" } else { "cordoned" })
            .or(format!("flotilla cluster uncordon {name}")),
    ]
}

async fn workload(remote: &Remote, name: &str, only: Option<&str>) -> Result<Vec<Check>, Failure> {
    let view = remote.client.workload_get(name).await?;
    let decision = remote.client.placement_decision(name).await?;
    let mut checks = of_workload(&view, &decision);
    let query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let releases = remote.client.release_list(name, &query).await?.items;
    let mut well = 0;
    for release in releases.iter().filter(|release| only.is_none_or(|only| release.cluster_name == only)) {
        if is_wrong(release) {
            let full = remote.client.release_get(name, &release.cluster_name).await?;
            checks.extend(of_release(&full));
        } else {
            well += 1;
        }
    }
    if well > 0 {
        checks.push(Check::new(true, "clusters", format!("{well} need nobody")));
    }
    Ok(checks)
}

fn of_workload(view: &WorkloadView, decision: &Decision) -> Vec<Check> {
    let name = &view.workload.name;
    let published = view.workload.intent == Intent::Published;
    let (chosen, all) = (decision.chosen().count(), decision.verdicts.len());
    let hint = match all {
        0 => "No cluster is registered yet: the page Clusters of the console says how to add one.".to_owned(),
        _ => format!("\"flotilla explain placement {name}\" says why for each cluster."),
    };
    vec![
        Check::new(published, format!("workload {name}"), view.phase.word())
            .or(format!("flotilla publish {name} --wait")),
        Check::new(chosen > 0, "placement", format!("chooses {chosen} of {all} clusters")).or(hint),
    ]
}

/// Whether somebody should look: it fails, can't be heard, has drifted or is held.
fn is_wrong(release: &ReleaseView) -> bool {
    let state = release.state;
    state.is_failing() || matches!(state, State::Unknown | State::Drifted | State::Terminating | State::Stale)
}

/// Where a delivery stands and why, then every object that is in its way.
fn of_release(view: &ReleaseView) -> Vec<Check> {
    let on = format!("{} on {}", view.workload_name, view.cluster_name);
    let mut seen = format!("{}: {}", view.state.word(), view.message);
    let mut hint = String::new();
    if let Some(stage) = view.release.stages.current() {
        seen = format!("{seen} (stage {}, {})", stage.name.word(), stage.state.word());
        if let Some(trouble) = stage.state.trouble() {
            let next = trouble.next_retry.map_or_else(
                || "it goes on when something changes".to_owned(),
                |at| format!("it is tried again at {at}"),
            );
            hint = format!("{} after {} tries; {next}.", trouble.reason, trouble.attempts);
        }
    }
    let mut checks = vec![Check::new(false, on, seen).or(hint)];
    for resource in view.resources.iter().filter(|one| one.problem.is_some() || !one.causes.is_empty()) {
        let problem = resource.problem.as_ref();
        let said = problem.map(|problem| format!("{}: {}", problem.code, problem.message));
        let seen = said.into_iter().chain(resource.causes.iter().cloned()).collect::<Vec<_>>().join("; ");
        let hint = problem.map(|problem| problem.hint.clone()).unwrap_or_default();
        checks.push(Check::new(false, resource.object.to_string(), seen).or(hint));
    }
    checks
}

#[cfg(test)]
mod tests {
    use domain::cluster::{ApiResource, Cluster, ClusterFacts, ClusterKind};
    use domain::rollup::Counts;
    use domain::{ClusterId, Timestamp};

    use super::*;

    fn summary(change: impl Fn(&mut Cluster)) -> ClusterSummary {
        let (group, version, kind) = RECORD;
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
            reach: Reach::Online,
            last_seen: Some(Timestamp::from_millis(1)),
            ..Cluster::new(
                ClusterId::from_parts(1, 1),
                "eu-1",
                ClusterKind::Simulated,
                Timestamp::from_millis(0),
            )
        };
        change(&mut cluster);
        ClusterSummary { cluster, counts: Counts::default(), conditions: Vec::new() }
    }

    fn failing(change: impl Fn(&mut Cluster)) -> Vec<String> {
        let checks = of_cluster(&summary(change));
        assert!(checks.iter().all(|check| check.ok == check.hint.is_empty()), "what fails says what to do");
        checks.into_iter().filter(|check| !check.ok).map(|check| check.subject).collect()
    }

    #[test]
    fn s3_14_a_cluster_is_gone_through_from_its_registration_to_its_agent_and_its_record_kind() {
        assert_eq!(failing(|_| {}), Vec::<String>::new());
        assert_eq!(failing(|cluster| cluster.reach = Reach::Offline), ["agent"]);
        let without = |cluster: &mut Cluster| cluster.facts.apis[0].kind = "Other".into();
        assert_eq!(failing(without), ["record kind AppliedRelease (flotilla.dev/v1alpha1)"]);
        assert_eq!(failing(|cluster| cluster.schedulable = false), ["schedulable"]);
        let never = |cluster: &mut Cluster| {
            cluster.reach = Reach::Offline;
            cluster.last_seen = None;
            cluster.facts = ClusterFacts::default();
        };
        assert_eq!(failing(never).len(), 3);
    }
}
