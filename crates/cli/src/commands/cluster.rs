//! `flotilla cluster`: what is known of clusters, and what a person may say about them.

use clap::Subcommand;
use domain::cluster::{Cluster as Registered, ClusterSummary};
use domain::page::{ListQuery, MAX_LIMIT};

use super::{Subject, get};
use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, Out, Output, Table};
use crate::remote::Remote;

mod cordon;
mod label;

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
            Self::List { .. } => Subject::Nothing,
            Self::Get { cluster, .. } | Self::Cordon { cluster } | Self::Uncordon { cluster } => {
                Subject::Cluster(cluster.clone())
            }
            Self::Label(label) => Subject::Cluster(label.cluster.clone()),
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        match self {
            Self::List { output } => list(remote, output.format, out).await?,
            Self::Get { cluster, output } => show(remote, &cluster, output.format, out).await?,
            Self::Label(label) => label.run(remote, out).await?,
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
    let mut head = vec!["NAME", "REACH", "LAST SEEN", "REGION", "VERSION", "WORKLOADS", "SCHEDULABLE"];
    if wide {
        head.extend(["KIND", "NODES", "LABELS", "TAINTS"]);
    }
    let mut table = Table::new(&head);
    for ClusterSummary { cluster, counts } in &clusters {
        let seen = cluster.last_seen.map(|seen| seen.age(now)).unwrap_or_default();
        let row = table.row().text(&cluster.name).reach(cluster.reach).text(seen).text(cluster.region());
        let row = row.text(&cluster.facts.kubernetes_version).text(get::states(counts));
        let row = row.text(if cluster.schedulable { "yes" } else { "no" });
        if wide {
            let nodes = cluster.facts.nodes.map(|nodes| nodes.to_string()).unwrap_or_default();
            row.text(cluster.kind.word()).text(nodes).text(labels(cluster)).text(taints(cluster));
        }
    }
    out.table(&table, "There are no clusters yet: the page Clusters of the console says how to add one.")
}

/// Prints one cluster.
pub async fn show(remote: &Remote, name: &str, format: Format, out: &Out) -> Result<(), Failure> {
    let summary = remote.client.cluster_get(name).await?;
    if format.is_machine() {
        return out.value(&summary, format);
    }
    let ClusterSummary { cluster, counts } = &summary;
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
