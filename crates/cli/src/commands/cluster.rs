//! `flotilla cluster`: lists clusters and manages them.

use clap::Subcommand;

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer};
use crate::resources::{CommandTarget, clusters};

mod affected;
mod annotate;
mod confirm_facts;
mod cordon;
mod helm_release;
mod join;
mod label;
mod onboarding;
mod suspend;
mod taint;
mod token;

/// The subcommands for clusters.
#[derive(Subcommand)]
pub enum ClusterCommand {
    /// List all clusters
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show one cluster
    Get {
        /// Name of the cluster
        cluster: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    Label(label::ClusterLabelArgs),
    Taint(taint::TaintArgs),
    Annotate(annotate::AnnotateArgs),
    SetValues(annotate::SetValuesArgs),
    SetOwners(annotate::SetOwnersArgs),
    HelmRelease(helm_release::HelmReleaseArgs),
    Adopt(helm_release::AdoptArgs),
    /// Manage join tokens
    #[command(subcommand)]
    Token(token::JoinTokenCommand),
    InstallManifest(join::InstallManifestArgs),
    Onboarding(onboarding::OnboardingArgs),
    Accept(join::AcceptArgs),
    ConfirmFacts(confirm_facts::ConfirmFactsArgs),
    /// Reject an agent that waits to join
    Reject {
        /// The requested name
        cluster: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
    /// Revoke the certificates of a cluster: its agent is disconnected immediately, its workloads keep running
    Revoke {
        /// Name of the cluster
        cluster: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
    Delete(join::DeleteClusterArgs),
    /// Mark a cluster as unschedulable: it gets no new workloads, existing ones stay
    Cordon {
        /// Name of the cluster
        cluster: String,
    },
    /// Mark a cluster as schedulable again
    Uncordon {
        /// Name of the cluster
        cluster: String,
    },
    Suspend(suspend::SuspendClusterArgs),
    Resume(suspend::ResumeClusterArgs),
}

impl ClusterCommand {
    /// The cluster that the command names.
    pub fn target(&self) -> CommandTarget {
        match self {
            Self::List { .. }
            | Self::Token(_)
            | Self::InstallManifest(_)
            | Self::Onboarding(_)
            | Self::Accept(_)
            | Self::Reject { .. } => CommandTarget::Unspecified,
            Self::Get { cluster, .. }
            | Self::Cordon { cluster }
            | Self::Uncordon { cluster }
            | Self::Revoke { cluster, .. } => CommandTarget::Cluster(cluster.clone()),
            Self::ConfirmFacts(confirm) => CommandTarget::Cluster(confirm.cluster.clone()),
            Self::Delete(delete) => CommandTarget::Cluster(delete.cluster.clone()),
            Self::HelmRelease(read) => CommandTarget::Cluster(read.cluster.clone()),
            Self::Adopt(adopt) => CommandTarget::Cluster(adopt.cluster.clone()),
            Self::Label(label) => CommandTarget::Cluster(label.cluster.clone()),
            Self::Taint(taint) => CommandTarget::Cluster(taint.cluster.clone()),
            Self::Annotate(annotate) => CommandTarget::Cluster(annotate.cluster.clone()),
            Self::SetValues(set) => CommandTarget::Cluster(set.cluster.clone()),
            Self::SetOwners(set) => CommandTarget::Cluster(set.cluster.clone()),
            Self::Suspend(suspend) => CommandTarget::Cluster(suspend.cluster.clone()),
            Self::Resume(resume) => CommandTarget::Cluster(resume.cluster.clone()),
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { output } => clusters::print_list(remote, output.format, out).await?,
            Self::Get { cluster, output } => {
                clusters::print_cluster(remote, &cluster, output.format, out).await?
            }
            Self::Label(label) => label.run(remote, out).await?,
            Self::Taint(taint) => taint.run(remote, out).await?,
            Self::Annotate(annotate) => annotate.run(remote, out).await?,
            Self::SetValues(set) => set.run(remote, out).await?,
            Self::SetOwners(set) => set.run(remote, out).await?,
            Self::HelmRelease(read) => read.run(remote, out).await?,
            Self::Adopt(adopt) => adopt.run(remote, out).await?,
            Self::Token(token) => token.run(remote, out).await?,
            Self::InstallManifest(install) => install.run(remote, out).await?,
            Self::Onboarding(onboarding) => onboarding.run(remote, out).await?,
            Self::Accept(accept) => accept.run(remote, out).await?,
            Self::ConfirmFacts(confirm) => confirm.run(remote, out).await?,
            Self::Reject { cluster, confirm } => join::reject(remote, &cluster, confirm, out).await?,
            Self::Revoke { cluster, confirm } => join::revoke(remote, &cluster, confirm, out).await?,
            Self::Delete(delete) => delete.run(remote, out).await?,
            Self::Cordon { cluster } => cordon::set_schedulable(remote, &cluster, false, out).await?,
            Self::Uncordon { cluster } => cordon::set_schedulable(remote, &cluster, true, out).await?,
            Self::Suspend(suspend) => suspend.run(remote, out).await?,
            Self::Resume(resume) => resume.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}
