//! `flotilla cluster accept`, `reject`, `revoke`, `delete` and `install-manifest`.

use clap::Args;
use domain::labels::{Labels, is_key, is_value};
use wire::{AcceptRequest, InstallRequest};

use crate::failure::Failure;
use crate::output::Out;
use crate::remote::Remote;

/// Accept an agent that waits to join; published workloads may go there from now on
#[derive(Args)]
pub struct Accept {
    /// The name it asks for
    pub cluster: String,
    /// The key as the agent prints it; another one is refused
    #[arg(long, value_name = "SHA256")]
    key: Option<String>,
}

/// Forget a cluster on which nothing is left
#[derive(Args)]
pub struct Delete {
    /// Name of the cluster
    pub cluster: String,
    /// Also if it holds workloads or can't be reached; what runs there is left alone
    #[arg(long)]
    force: bool,
}

/// Print what to give to "kubectl apply -f -" on a cluster that is to join; it holds a new join token
#[derive(Args)]
pub struct Install {
    /// The name the cluster will have
    pub cluster: String,
    /// Namespaces that the agent may write to
    #[arg(long, value_delimiter = ',', value_name = "NAMES", required_unless_present_any = ["cluster_wide", "impersonate"])]
    namespaces: Vec<String>,
    /// Kinds that it may write, such as Deployment,Service,certificates.cert-manager.io [default: the usual ones]
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    kinds: Vec<String>,
    /// Let it write them in every namespace, and make namespaces
    #[arg(long, conflicts_with = "namespaces")]
    cluster_wide: bool,
    /// Let it act in the name of this service account, whose rights are yours to give
    #[arg(long, value_name = "NAMESPACE/NAME", conflicts_with_all = ["namespaces", "cluster_wide", "kinds"])]
    impersonate: Option<String>,
    /// The agent's image
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Let it in without a person's word
    #[arg(long)]
    auto_accept: bool,
    /// How long the token lives, such as 30m, 24h or 7d
    #[arg(long, default_value = "24h", value_name = "TIME")]
    ttl: String,
    /// A label that the cluster gets; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
}

impl Accept {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        let accept = AcceptRequest { fingerprint: self.key };
        remote.client.cluster_accept(&self.cluster, &accept).await?;
        out.line(&format!("cluster/{} accepted", self.cluster))
    }
}

impl Delete {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        remote.client.cluster_delete(&self.cluster, self.force).await?;
        out.line(&format!("cluster/{} deleted", self.cluster))
    }
}

impl Install {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        let install = InstallRequest {
            namespaces: self.namespaces,
            kinds: self.kinds,
            cluster_wide: self.cluster_wide,
            impersonate: self.impersonate,
            image: self.image,
            labels: labels(&self.labels)?,
            auto_accept: self.auto_accept,
            minutes: Some(minutes(&self.ttl)?),
        };
        let made = remote.client.cluster_install(&self.cluster, &install).await?;
        out.line(made.manifest.trim_end())
    }
}

/// Refuses an agent that waits to join.
pub async fn reject(remote: &Remote, cluster: &str, out: &Out) -> Result<(), Failure> {
    remote.client.cluster_reject(cluster).await?;
    out.line(&format!("cluster/{cluster} rejected"))
}

/// Revokes the certificates of a cluster.
pub async fn revoke(remote: &Remote, cluster: &str, out: &Out) -> Result<(), Failure> {
    remote.client.cluster_revoke(cluster).await?;
    out.line(&format!("cluster/{cluster} revoked"))
}

/// Labels from `key=value`.
pub fn labels(texts: &[String]) -> Result<Labels, Failure> {
    let read = |text: &String| {
        let (key, value) = text.split_once('=')?;
        (is_key(key) && is_value(value)).then(|| (key.to_owned(), value.to_owned()))
    };
    let wrong = |text: &String| {
        Failure::usage(
            format!("{:?} is no label.", text.chars().take(120).collect::<String>()),
            "Write key=value.",
        )
    };
    texts.iter().map(|text| read(text).ok_or_else(|| wrong(text))).collect()
}

/// Minutes from `30m`, `24h` or `7d`.
pub fn minutes(text: &str) -> Result<u32, Failure> {
    let units = [('m', 1), ('h', 60), ('d', 1_440)];
    let read = units.iter().find_map(|(unit, minutes)| {
        let number: u32 = text.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(*minutes).filter(|minutes| *minutes > 0)
    });
    let shown: String = text.chars().take(40).collect();
    read.ok_or_else(|| Failure::usage(format!("{shown:?} is no time."), "Write 30m, 24h or 7d."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_minutes_hours_and_days() {
        assert_eq!(minutes("30m").ok(), Some(30));
        assert_eq!(minutes("24h").ok(), Some(1_440));
        assert_eq!(minutes("7d").ok(), Some(10_080));
        for wrong in ["", "h", "0h", "-1h", "1.5h", "24", "99999999d"] {
            assert!(minutes(wrong).is_err(), "{wrong}");
        }
    }
}
