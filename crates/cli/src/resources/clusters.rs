//! Lists and prints clusters.

use domain::cluster::{Allocatable, Cluster, ClusterFacts, ClusterSummary, NamespaceFacts};
use domain::condition::ConditionStatus;
use domain::join::{
    CertificateState, ClusterAgent, ClusterCertificate, ClusterCondition, ClusterConditionType,
    OnboardingStage, Registration, RegistrationState,
};

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
    for ClusterSummary { cluster, counts, conditions, suspension, .. } in &clusters {
        let seen = cluster.last_seen.map(|seen| clock::format_age(seen, now)).unwrap_or_default();
        let row = table
            .add_row()
            .text(&cluster.name)
            .cluster_connectivity(cluster)
            .text(seen)
            .text(cluster.region());
        let row = row.text(&cluster.facts.kubernetes_version).text(format_states(counts));
        let schedulable = if cluster.schedulable { "yes" } else { "no" };
        let row = match suspension {
            Some(_) => row.text(format!("{schedulable}, suspended")),
            None => row.text(schedulable),
        };
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
        let row = row.text(clock::format_age(waiting.requested_at, now)).text(&waiting.facts.region);
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

/// Prints one cluster, or the registration that waits under this name.
pub async fn print_cluster(
    remote: &ServerConnection,
    name: &str,
    format: Format,
    out: &Printer,
) -> Result<(), Failure> {
    let (fields, pending) = match find_cluster(remote, name).await? {
        FoundCluster::Registered(summary) if format.is_machine() => return out.print_value(&summary, format),
        FoundCluster::Pending(waiting) if format.is_machine() => return out.print_value(&waiting, format),
        FoundCluster::Registered(summary) => (cluster_fields(&summary), false),
        FoundCluster::Pending(waiting) => (registration_fields(&waiting), true),
    };
    let mut table = Table::new(&["FIELD", "VALUE"]);
    for (field, value) in fields {
        table.add_row().text(field).text(value);
    }
    out.print_table(&table, "")?;
    if pending {
        out.print_note(&format!("Compare the key with the agent's log, then: {}", accept_command(name)));
    }
    Ok(())
}

/// What has the name of a cluster.
pub enum FoundCluster {
    Registered(Box<ClusterSummary>),
    /// An agent that waits to join under this name.
    Pending(Box<Registration>),
}

/// The cluster with this name, or the registration that waits under it.
pub async fn find_cluster(remote: &ServerConnection, name: &str) -> Result<FoundCluster, Failure> {
    let error = match remote.client.get_cluster(name).await {
        Ok(summary) => return Ok(FoundCluster::Registered(Box::new(summary))),
        Err(error) if error.is_not_found() => error,
        Err(error) => return Err(error.into()),
    };
    let waiting = remote.client.list_registrations().await?.into_iter();
    let mut pending = waiting.filter(|one| one.name == name && one.state == RegistrationState::Pending);
    pending.next().map(|one| FoundCluster::Pending(Box::new(one))).ok_or_else(|| error.into())
}

/// The command that lets a waiting agent join.
pub fn accept_command(name: &str) -> String {
    format!("flotilla cluster accept {name}")
}

/// The fields of a registration that waits.
pub fn registration_fields(waiting: &Registration) -> Vec<(&'static str, String)> {
    vec![
        ("name", waiting.name.clone()),
        ("state", "pending: its agent waits to join".to_owned()),
        ("key", waiting.fingerprint.clone()),
        ("requested", waiting.requested_at.to_string()),
        ("version", or_unknown(&waiting.facts.kubernetes_version)),
        ("region", or_unknown(&waiting.facts.region)),
    ]
}

/// The fields of a cluster.
pub fn cluster_fields(summary: &ClusterSummary) -> Vec<(&'static str, String)> {
    let ClusterSummary { cluster, counts, conditions, pending_facts, agent, suspension } = summary;
    let facts = &cluster.facts;
    let mut fields =
        vec![("name", cluster.name.clone()), ("connectivity", cluster.connectivity.as_str().to_owned())];
    if let Some(outage) = &cluster.api_server_outage {
        fields.push(("API server", format!("does not respond since {}: {}", outage.since, outage.message)));
    }
    fields.extend([
        ("last seen", cluster.last_seen.map_or_else(|| "never".to_owned(), |seen| seen.to_string())),
        ("kind", cluster.kind.as_str().to_owned()),
        ("version", or_unknown(&facts.kubernetes_version)),
    ]);
    for (name, value) in [
        ("confirmed provider", &cluster.confirmed_facts.provider),
        ("confirmed region", &cluster.confirmed_facts.region),
    ] {
        if !value.is_empty() {
            fields.push((name, value.clone()));
        }
    }
    fields.extend(pending_facts.iter().map(|fact| ("not confirmed", fact.to_string())));
    fields.extend([
        ("nodes", facts.nodes.map_or_else(|| "unknown".to_owned(), |nodes| nodes.to_string())),
        ("allocatable", format_allocatable(facts)),
        ("schedulable", if cluster.schedulable { "yes" } else { "no" }.to_owned()),
    ]);
    fields.extend(suspension.iter().map(|suspension| ("suspended", suspension.to_string())));
    for condition in conditions {
        let word = match condition.status {
            ConditionStatus::True => "yes",
            ConditionStatus::False => "no",
            ConditionStatus::Unknown => "unknown",
        };
        fields.push((condition.kind.as_str(), format!("{word}: {}", condition.message)));
    }
    fields.extend(agent.iter().flat_map(agent_fields));
    fields.extend([
        ("owners", cluster.owners.join(", ")),
        ("labels", format_labels(cluster)),
        ("taints", format_taints(cluster)),
        ("workloads", format_states(counts)),
        ("storage classes", facts.storage_classes.join(", ")),
        ("ingress classes", facts.ingress_classes.join(", ")),
        ("helm releases", format_helm_releases(&facts.namespaces)),
        ("registered", cluster.created_at.to_string()),
    ]);
    fields
}

/// What the schedulable nodes offer; unknown without a list of nodes.
fn format_allocatable(facts: &ClusterFacts) -> String {
    let Some(Allocatable { schedulable, cpu, memory }) = facts.allocatable() else {
        return "unknown".to_owned();
    };
    let memory = memory.format_bytes();
    format!("{cpu} cores, {memory} on {schedulable} schedulable nodes; their use is not reported")
}

/// The fields of the agent of a cluster.
fn agent_fields(agent: &ClusterAgent) -> Vec<(&'static str, String)> {
    let mut fields = vec![("agent version", or_unknown(&agent.version))];
    let Some(certificate) = &agent.certificate else {
        fields.push(("certificate", "unknown: none is stored".to_owned()));
        return fields;
    };
    fields.push(("certificate", describe_certificate(certificate)));
    if !certificate.hint().is_empty() {
        fields.push(("next", certificate.hint().to_owned()));
    }
    fields.push(("certificate key", certificate.fingerprint.clone()));
    fields
}

/// Whether a certificate is valid, until when, and when it is renewed.
fn describe_certificate(certificate: &ClusterCertificate) -> String {
    let ClusterCertificate { renewal_at, expires_at, revoked_at, .. } = certificate;
    match certificate.state {
        CertificateState::Valid => {
            format!("valid until {expires_at}, renewed by its agent about {renewal_at}")
        }
        CertificateState::RenewalOverdue => {
            format!("valid until {expires_at}; its renewal is overdue since {renewal_at}")
        }
        CertificateState::Expired => format!("expired at {expires_at}"),
        CertificateState::Revoked => match revoked_at {
            Some(at) => format!("revoked at {at}"),
            None => "revoked".to_owned(),
        },
    }
}

/// The stages in which a cluster joins.
pub fn stage_table(stages: &[OnboardingStage]) -> Table {
    let now = clock::now();
    let mut table = Table::new(&["STAGE", "STATE", "SINCE", "MESSAGE"]);
    for stage in stages {
        let since = stage.since.map(|since| clock::format_age(since, now)).unwrap_or_default();
        let row = table.add_row().text(stage.name.label()).text(stage.state.as_str());
        row.text(since).text(&stage.message);
    }
    table
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}

/// The names of all clusters.
pub async fn list_names(remote: &ServerConnection) -> Result<Vec<String>, Failure> {
    Ok(list_all(remote).await?.into_iter().map(|summary| summary.cluster.name).collect())
}

/// Lists all clusters, page by page.
async fn list_all(remote: &ServerConnection) -> Result<Vec<ClusterSummary>, Failure> {
    Ok(list_all_pages(async |query| remote.client.list_clusters(&query).await).await?)
}

/// `shop/web r3 deployed`, with the workload that manages it; what is not reported is not "none".
fn format_helm_releases(namespaces: &[NamespaceFacts]) -> String {
    let known = namespaces.iter().filter_map(|one| Some((&one.name, one.helm_releases.as_ref()?)));
    let releases = known.flat_map(|(namespace, releases)| releases.iter().map(move |one| (namespace, one)));
    let mut parts: Vec<String> = releases
        .map(|(namespace, one)| {
            let by =
                if one.workload.is_empty() { String::new() } else { format!(" (workload {})", one.workload) };
            format!("{namespace}/{} r{} {}{by}", one.name, one.revision, one.status)
        })
        .collect();
    match namespaces.iter().filter(|one| one.helm_releases.is_none()).count() {
        unknown if unknown == namespaces.len() => return "not reported".to_owned(),
        0 if parts.is_empty() => return "none".to_owned(),
        0 => {}
        unknown => parts.push(format!("not reported for {unknown} of {} namespaces", namespaces.len())),
    }
    parts.join(", ")
}

fn format_labels(cluster: &Cluster) -> String {
    let labels: Vec<String> = cluster.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(",")
}

fn format_taints(cluster: &Cluster) -> String {
    cluster.taints.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;
    use domain::cluster::{HelmReleaseFacts, NodePool};
    use domain::join::CertificateValidity;
    use domain::quantity::Quantity;

    use super::*;

    #[test]
    fn a_certificate_that_is_not_valid_says_since_when_and_what_to_do() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let fields = |revoked_at, now| {
            let validity = CertificateValidity { issued_at: at(0), expires_at: at(60), revoked_at };
            let certificate = ClusterCertificate::new("1".to_owned(), "ab".to_owned(), validity, at(now));
            let agent =
                ClusterAgent { version: String::new(), stages: Vec::new(), certificate: Some(certificate) };
            agent_fields(&agent)
        };
        let text = |revoked_at, now| fields(revoked_at, now)[1].1.clone();
        let valid =
            "valid until 1970-01-01T00:01:00.000Z, renewed by its agent about 1970-01-01T00:00:40.000Z";
        assert_eq!(text(None, 1), valid);
        assert!(text(None, 50).ends_with("; its renewal is overdue since 1970-01-01T00:00:40.000Z"));
        assert_eq!(text(None, 61), "expired at 1970-01-01T00:01:00.000Z");
        assert_eq!(text(Some(at(5)), 61), "revoked at 1970-01-01T00:00:05.000Z");
        let names = |now| fields(None, now).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(1), ["agent version", "certificate", "certificate key"]);
        assert_eq!(names(61), ["agent version", "certificate", "next", "certificate key"]);
        let none = ClusterAgent { version: "1.0.0".to_owned(), stages: Vec::new(), certificate: None };
        let unknown = ("certificate", "unknown: none is stored".to_owned());
        assert_eq!(agent_fields(&none), [("agent version", "1.0.0".to_owned()), unknown]);
    }

    #[test]
    fn resources_of_nodes_that_are_not_listed_are_unknown() {
        let quantity = |text| Quantity::parse(text).unwrap();
        let pool = |ready| NodePool {
            nodes: 2,
            ready,
            cpu: quantity("4"),
            memory: quantity("8Gi"),
            ..NodePool::default()
        };
        let mut facts = ClusterFacts::default();
        assert_eq!(format_allocatable(&facts), "unknown");
        facts.nodes = Some(4);
        facts.node_pools = vec![pool(1), pool(2)];
        let expected = "8 cores, 16 GiB on 3 schedulable nodes; their use is not reported";
        assert_eq!(format_allocatable(&facts), expected);
    }

    #[test]
    fn helm_releases_that_are_not_reported_are_not_none() {
        let namespace = |name: &str, helm_releases| NamespaceFacts {
            name: name.into(),
            helm_releases,
            ..NamespaceFacts::default()
        };
        let web = HelmReleaseFacts {
            name: "web".into(),
            revision: 3,
            status: "deployed".into(),
            workload: "shop".into(),
        };
        assert_eq!(format_helm_releases(&[]), "not reported");
        assert_eq!(format_helm_releases(&[namespace("a", None)]), "not reported");
        assert_eq!(format_helm_releases(&[namespace("a", Some(Vec::new()))]), "none");
        let some = [namespace("a", Some(vec![web])), namespace("b", None)];
        assert_eq!(
            format_helm_releases(&some),
            "a/web r3 deployed (workload shop), not reported for 1 of 2 namespaces"
        );
    }
}
