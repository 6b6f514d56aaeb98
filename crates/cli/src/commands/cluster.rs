//! `flotilla cluster`: what is known of clusters, and what a person may say about them.

use clap::Subcommand;
use domain::cluster::{Cluster as Registered, ClusterSummary};
use domain::join::{ClusterCondition, ConditionKind, RegistrationState};
use domain::page::{ListQuery, MAX_LIMIT};

use super::{Subject, get};
use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, Out, Output, Table};
use crate::remote::Remote;

mod cordon;
mod joining;
mod label;
mod token;

/// What to do with clusters.
#[derive(Subcommand)]
pub enum Cluster {
    /// List all clusters
    List {
        #[command(flatten)]
        output: Output,
    },
    /// Show one cluster
    Get {
        /// Name of the cluster
        cluster: String,
        #[command(flatten)]
        output: Output,
    },
    Label(label::Label),
    /// Join tokens: what a cluster joins with
    #[command(subcommand)]
    Token(token::Token),
    InstallManifest(joining::Install),
    Accept(joining::Accept),
    /// Refuse an agent that waits to join
    Reject {
        /// The name it asks for
        cluster: String,
    },
    /// Revoke the certificates of a cluster: its agent is cut off at once, what runs there keeps running
    Revoke {
        /// Name of the cluster
        cluster: String,
    },
    Delete(joining::Delete),
    /// Let a cluster take no new workloads; those it has stay
    Cordon {
        /// Name of the cluster
        cluster: String,
    },
    /// Let a cluster take new workloads again
    Uncordon {
        /// Name of the cluster
        cluster: String,
    },
}

impl Cluster {
    /// What it is about.
    pub fn subject(&self) -> Subject {
        match self {
            Self::List { .. }
            | Self::Token(_)
            | Self::InstallManifest(_)
            | Self::Accept(_)
            | Self::Reject { .. } => Subject::Nothing,
            Self::Get { cluster, .. }
            | Self::Cordon { cluster }
            | Self::Uncordon { cluster }
            | Self::Revoke { cluster } => Subject::Cluster(cluster.clone()),
            Self::Delete(delete) => Subject::Cluster(delete.cluster.clone()),
            Self::Label(label) => Subject::Cluster(label.cluster.clone()),
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        match self {
            Self::List { output } => list(remote, output.format, out).await?,
            Self::Get { cluster, output } => show(remote, &cluster, output.format, out).await?,
            Self::Label(label) => label.run(remote, out).await?,
            Self::Token(token) => token.run(remote, out).await?,
            Self::InstallManifest(install) => install.run(remote, out).await?,
            Self::Accept(accept) => accept.run(remote, out).await?,
            Self::Reject { cluster } => joining::reject(remote, &cluster, out).await?,
            Self::Revoke { cluster } => joining::revoke(remote, &cluster, out).await?,
            Self::Delete(delete) => delete.run(remote, out).await?,
            Self::Cordon { cluster } => cordon::set(remote, &cluster, false, out).await?,
            Self::Uncordon { cluster } => cordon::set(remote, &cluster, true, out).await?,
        }
        Ok(Exit::Done)
    }
}

/// Prints every cluster.
pub async fn list(remote: &Remote, format: Format, out: &Out) -> Result<(), Failure> {
    let clusters = all(remote).await?;
    if format.is_machine() {
        return out.value(&clusters, format);
    }
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head =
        vec!["NAME", "REACH", "LAST SEEN", "REGION", "VERSION", "WORKLOADS", "SCHEDULABLE", "CONDITION"];
    if wide {
        head.extend(["KIND", "NODES", "LABELS", "TAINTS"]);
    }
    let mut table = Table::new(&head);
    for ClusterSummary { cluster, counts, conditions } in &clusters {
        let seen = cluster.last_seen.map(|seen| seen.age(now)).unwrap_or_default();
        let row = table.row().text(&cluster.name).reach(cluster.reach).text(seen).text(cluster.region());
        let row = row.text(&cluster.facts.kubernetes_version).text(get::states(counts));
        let row = row.text(if cluster.schedulable { "yes" } else { "no" });
        let row = row.text(condition(conditions));
        if wide {
            let nodes = cluster.facts.nodes.map(|nodes| nodes.to_string()).unwrap_or_default();
            row.text(cluster.kind.word()).text(nodes).text(labels(cluster)).text(taints(cluster));
        }
    }
    for waiting in remote.client.registration_list().await? {
        let row = table.row().text(&waiting.name).text("").text(waiting.since.age(now)).text("");
        row.text(&waiting.facts.kubernetes_version).text("").text("").text(match waiting.state {
            RegistrationState::Pending => format!("Pending: accept key {}", waiting.fingerprint),
            _ => "Rejected".to_owned(),
        });
    }
    out.table(&table, "There are no clusters yet: the page Clusters of the console says how to add one.")
}

/// The first condition that is not met, or the last word of all that are.
fn condition(conditions: &[ClusterCondition]) -> String {
    let of_joining = |condition: &&ClusterCondition| {
        matches!(condition.kind, ConditionKind::Accepted | ConditionKind::Joined)
    };
    match conditions.iter().filter(of_joining).find(|condition| !condition.status) {
        Some(open) => format!("not {}: {}", open.kind.word(), open.reason),
        None => conditions.iter().rfind(of_joining).map_or("", |last| last.kind.word()).to_owned(),
    }
}

/// Prints one cluster.
pub async fn show(remote: &Remote, name: &str, format: Format, out: &Out) -> Result<(), Failure> {
    let summary = remote.client.cluster_get(name).await?;
    if format.is_machine() {
        return out.value(&summary, format);
    }
    let ClusterSummary { cluster, counts, conditions } = &summary;
    let mut table = Table::new(&["FIELD", "VALUE"]);
    let mut field = |field: &str, value: String| {
        table.row().text(field).text(value);
    };
    field("name", cluster.name.clone());
    field("reach", cluster.reach.word().to_owned());
    field("last seen", cluster.last_seen.map(|seen| seen.to_string()).unwrap_or_default());
    field("kind", cluster.kind.word().to_owned());
    field("version", cluster.facts.kubernetes_version.clone());
    field("nodes", cluster.facts.nodes.map(|nodes| nodes.to_string()).unwrap_or_default());
    field("schedulable", if cluster.schedulable { "yes" } else { "no" }.to_owned());
    for condition in conditions {
        let word = if condition.status { "yes" } else { "no" };
        field(condition.kind.word(), format!("{word}: {}", condition.message));
    }
    field("labels", labels(cluster));
    field("taints", taints(cluster));
    field("workloads", get::states(counts));
    field("storage classes", cluster.facts.storage_classes.join(", "));
    field("ingress classes", cluster.facts.ingress_classes.join(", "));
    field("registered", cluster.created_at.to_string());
    out.table(&table, "")
}

/// The names of all clusters.
pub async fn names(remote: &Remote) -> Result<Vec<String>, Failure> {
    Ok(all(remote).await?.into_iter().map(|summary| summary.cluster.name).collect())
}

/// Every cluster, page by page.
async fn all(remote: &Remote) -> Result<Vec<ClusterSummary>, Failure> {
    let mut query = ListQuery { limit: Some(MAX_LIMIT), ..ListQuery::default() };
    let mut all = Vec::new();
    loop {
        let page = remote.client.cluster_list(&query).await?;
        all.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

fn labels(cluster: &Registered) -> String {
    let labels: Vec<String> = cluster.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(",")
}

fn taints(cluster: &Registered) -> String {
    let taint = |taint: &domain::cluster::Taint| {
        let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
        format!("{}{value}:{:?}", taint.key, taint.effect)
    };
    cluster.taints.iter().map(taint).collect::<Vec<_>>().join(",")
}
