//! Lists and prints clusters.

use domain::cluster::{Cluster, ClusterSummary};
use domain::condition::ConditionStatus;
use domain::join::{ClusterCondition, ClusterConditionType, RegistrationState};

use crate::clock;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Format, Printer, Table, format_states};
use crate::pages::list_all_pages;

/// Prints all clusters and pending registrations.
pub async fn print_list(remote: &ServerConnection, format: Format, out: &Printer) -> Result<(), Failure> {
    let clusters = list_all(remote).await?;
    if format.is_machine() {
        return out.print_value(&clusters, format);
    }
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec![
        "NAME",
        "CONNECTIVITY",
        "LAST SEEN",
        "REGION",
        "VERSION",
        "WORKLOADS",
        "SCHEDULABLE",
        "CONDITION",
    ];
    if wide {
        head.extend(["KIND", "NODES", "LABELS", "TAINTS"]);
    }
    let mut table = Table::new(&head);
    for ClusterSummary { cluster, counts, conditions, .. } in &clusters {
        let seen = cluster.last_seen.map(|seen| seen.format_age(now)).unwrap_or_default();
        let row = table
            .add_row()
            .text(&cluster.name)
            .cluster_connectivity(cluster)
            .text(seen)
            .text(cluster.region());
        let row = row.text(&cluster.facts.kubernetes_version).text(format_states(counts));
        let row = row.text(if cluster.schedulable { "yes" } else { "no" });
        let row = row.text(describe_join_condition(conditions));
        if wide {
            let nodes = cluster.facts.nodes.map(|nodes| nodes.to_string()).unwrap_or_default();
            row.text(cluster.kind.as_str())
                .text(nodes)
                .text(format_labels(cluster))
                .text(format_taints(cluster));
        }
    }
    for waiting in remote.client.list_registrations().await? {
        let row = table.add_row().text(&waiting.name).text("");
        let row = row.text(waiting.requested_at.format_age(now)).text(&waiting.facts.region);
        row.text(&waiting.facts.kubernetes_version).text("").text("").text(match waiting.state {
            RegistrationState::Pending => format!("Pending: accept key {}", waiting.fingerprint),
            _ => "Rejected".to_owned(),
        });
    }
    out.print_table(
        &table,
        "There are no clusters yet: the page Clusters of the console shows how to add one.",
    )
}

/// The first join condition that does not hold, otherwise the last one.
fn describe_join_condition(conditions: &[ClusterCondition]) -> String {
    let of_joining = |condition: &&ClusterCondition| {
        matches!(condition.kind, ClusterConditionType::Accepted | ClusterConditionType::Joined)
    };
    match conditions.iter().filter(of_joining).find(|condition| !condition.is_true()) {
        Some(open) => format!("not {}: {}", open.kind.as_str(), open.reason),
        None => conditions.iter().rfind(of_joining).map_or("", |last| last.kind.as_str()).to_owned(),
    }
}

/// Prints one cluster.
pub async fn print_cluster(
    remote: &ServerConnection,
    name: &str,
    format: Format,
    out: &Printer,
) -> Result<(), Failure> {
    let summary = remote.client.get_cluster(name).await?;
    if format.is_machine() {
        return out.print_value(&summary, format);
    }
    let ClusterSummary { cluster, counts, conditions, pending_facts } = &summary;
    let mut table = Table::new(&["FIELD", "VALUE"]);
    let mut field = |field: &str, value: String| {
        table.add_row().text(field).text(value);
    };
    field("name", cluster.name.clone());
    field("connectivity", cluster.connectivity.as_str().to_owned());
    if let Some(outage) = &cluster.api_server_outage {
        field("API server", format!("does not respond since {}: {}", outage.since, outage.message));
    }
    field("last seen", cluster.last_seen.map(|seen| seen.to_string()).unwrap_or_default());
    field("kind", cluster.kind.as_str().to_owned());
    field("version", cluster.facts.kubernetes_version.clone());
    for (name, value) in [
        ("confirmed provider", &cluster.confirmed_facts.provider),
        ("confirmed region", &cluster.confirmed_facts.region),
    ] {
        if !value.is_empty() {
            field(name, value.clone());
        }
    }
    for fact in pending_facts {
        field("not confirmed", fact.to_string());
    }
    field("nodes", cluster.facts.nodes.map(|nodes| nodes.to_string()).unwrap_or_default());
    field("schedulable", if cluster.schedulable { "yes" } else { "no" }.to_owned());
    for condition in conditions {
        let word = match condition.status {
            ConditionStatus::True => "yes",
            ConditionStatus::False => "no",
            ConditionStatus::Unknown => "unknown",
        };
        field(condition.kind.as_str(), format!("{word}: {}", condition.message));
    }
    field("labels", format_labels(cluster));
    field("taints", format_taints(cluster));
    field("workloads", format_states(counts));
    field("storage classes", cluster.facts.storage_classes.join(", "));
    field("ingress classes", cluster.facts.ingress_classes.join(", "));
    field("registered", cluster.created_at.to_string());
    out.print_table(&table, "")
}

/// The names of all clusters.
pub async fn list_names(remote: &ServerConnection) -> Result<Vec<String>, Failure> {
    Ok(list_all(remote).await?.into_iter().map(|summary| summary.cluster.name).collect())
}

/// Lists all clusters, page by page.
async fn list_all(remote: &ServerConnection) -> Result<Vec<ClusterSummary>, Failure> {
    Ok(list_all_pages(async |query| remote.client.list_clusters(&query).await).await?)
}

fn format_labels(cluster: &Cluster) -> String {
    let labels: Vec<String> = cluster.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(",")
}

fn format_taints(cluster: &Cluster) -> String {
    cluster.taints.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
