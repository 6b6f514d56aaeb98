//! `flotilla cluster accept`, `reject`, `revoke`, `delete` and `install-manifest`.

use clap::Args;
use domain::cluster::ConfirmedFacts;
use domain::labels::{Labels, is_label_key, is_label_value};
use domain::rollout::TimeSpan;
use wire::{AcceptRequest, InstallRequest};

use super::affected::describe_workloads;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Printer, sanitize};

/// Accept an agent that waits to join; from then on the cluster can get workloads
#[derive(Args)]
pub struct AcceptArgs {
    /// The requested name
    pub cluster: String,
    /// Expected fingerprint of the key, as the agent prints it; another key is rejected
    #[arg(long, value_name = "SHA256")]
    key: Option<String>,
}

/// Delete a cluster that has no workloads
#[derive(Args)]
pub struct DeleteClusterArgs {
    /// Name of the cluster
    pub cluster: String,
    /// Also if it has workloads or is unreachable; its objects are left on the cluster
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

/// Print manifests for "kubectl apply -f -" on a cluster that shall join; they contain a new join token
#[derive(Args)]
pub struct InstallManifestArgs {
    /// The name the cluster will have
    pub cluster: String,
    /// Namespaces that the agent may write to
    #[arg(long, value_delimiter = ',', value_name = "NAMES", required_unless_present_any = ["cluster_wide", "impersonate"])]
    namespaces: Vec<String>,
    /// Kinds that it may write, such as Deployment,Service,certificates.cert-manager.io [default: the usual ones]
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    kinds: Vec<String>,
    /// Allow the agent to write them in every namespace, and to create namespaces
    #[arg(long, conflicts_with = "namespaces")]
    cluster_wide: bool,
    /// Let the agent impersonate this service account, whose permissions you define
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with_all = ["namespaces", "cluster_wide", "kinds"])]
    impersonate: Option<String>,
    /// The agent's image
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Accept the cluster without an approval
    #[arg(long)]
    auto_accept: bool,
    /// Lifetime of the token, such as 30m, 24h or 7d
    #[arg(long, default_value = "24h", value_name = "TIME")]
    ttl: String,
    /// A label of the new cluster; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
}

impl AcceptArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let accept = AcceptRequest { fingerprint: self.key };
        let cluster = remote.client.accept_cluster(&self.cluster, &accept).await?;
        out.print_line(&format!("cluster/{} accepted", self.cluster))?;
        let ConfirmedFacts { provider, region, zones, kubernetes_version, .. } = cluster.confirmed_facts;
        let facts = [
            ("provider", provider),
            ("region", region),
            ("zones", zones.join(" ")),
            ("version", kubernetes_version),
        ];
        let facts = facts.iter().filter(|(_, value)| !value.is_empty());
        let facts: Vec<String> = facts.map(|(name, value)| format!("{name} {value}")).collect();
        if facts.is_empty() {
            return Ok(());
        }
        out.print_line(&sanitize(&format!("confirmed its facts: {}", facts.join(", "))))
    }
}

impl DeleteClusterArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let cluster = &self.cluster;
        if !self.confirm.is_given() {
            let there = describe_workloads(remote, cluster).await?;
            self.confirm.confirm(&format!("The cluster {cluster} will be deleted from this hub. {there}"))?;
        }
        remote.client.delete_cluster(&self.cluster, self.force).await?;
        out.print_line(&format!("cluster/{} deleted", self.cluster))
    }
}

impl InstallManifestArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let install = InstallRequest {
            namespaces: self.namespaces,
            kinds: self.kinds,
            cluster_wide: self.cluster_wide,
            impersonate: self.impersonate,
            image: self.image,
            labels: parse_labels(&self.labels)?,
            auto_accept: self.auto_accept,
            minutes: Some(parse_minutes(&self.ttl)?),
        };
        let created = remote.client.create_install_manifest(&self.cluster, &install).await?;
        out.print_line(created.manifest.trim_end())
    }
}

/// Rejects an agent that waits to join.
pub async fn reject(
    remote: &ServerConnection,
    cluster: &str,
    confirm: ConfirmArgs,
    out: &Printer,
) -> Result<(), Failure> {
    let effect = "gets no certificate; to join later, it needs a new join token.";
    confirm.confirm(&format!("The agent that waits to join as {cluster} {effect}"))?;
    remote.client.reject_cluster(cluster).await?;
    out.print_line(&format!("cluster/{cluster} rejected"))
}

/// Revokes the certificates of a cluster.
pub async fn revoke(
    remote: &ServerConnection,
    cluster: &str,
    confirm: ConfirmArgs,
    out: &Printer,
) -> Result<(), Failure> {
    if !confirm.is_given() {
        let there = describe_workloads(remote, cluster).await?;
        let effect = "is disconnected and can't connect again; what runs there can't be changed or removed.";
        confirm.confirm(&format!("The agent of {cluster} {effect} {there}"))?;
    }
    remote.client.revoke_cluster(cluster).await?;
    out.print_line(&format!("cluster/{cluster} revoked"))
}

/// Labels from `key=value`.
pub fn parse_labels(texts: &[String]) -> Result<Labels, Failure> {
    let read = |text: &String| {
        let (key, value) = text.split_once('=')?;
        (is_label_key(key) && is_label_value(value)).then(|| (key.to_owned(), value.to_owned()))
    };
    let wrong = |text: &String| {
        Failure::usage(
            format!("{:?} is not a label.", text.chars().take(120).collect::<String>()),
            "Write key=value.",
        )
    };
    texts.iter().map(|text| read(text).ok_or_else(|| wrong(text))).collect()
}

/// Whole minutes from a time span such as `30m`, `24h` or `7d`.
pub fn parse_minutes(text: &str) -> Result<u32, Failure> {
    let Ok(span) = text.parse::<TimeSpan>();
    let minutes = span.millis().filter(|millis| *millis > 0 && millis % 60_000 == 0);
    let minutes = minutes.and_then(|millis| u32::try_from(millis / 60_000).ok());
    minutes.ok_or_else(|| {
        Failure::usage(
            format!("{span:?} is not a lifetime.", span = span.to_string()),
            "Write 30m, 24h or 7d.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_whole_minutes() {
        assert_eq!(parse_minutes("30m").ok(), Some(30));
        assert_eq!(parse_minutes("24h").ok(), Some(1_440));
        assert_eq!(parse_minutes("7d").ok(), Some(10_080));
        assert_eq!(parse_minutes("1h30m").ok(), Some(90));
        for wrong in ["", "h", "0h", "-1h", "1.5h", "24", "30s", "99999999d"] {
            assert!(parse_minutes(wrong).is_err(), "{wrong}");
        }
    }
}
