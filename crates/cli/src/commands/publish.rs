//! `flotilla publish`: creates a revision from the draft and deploys it (S0-1 … S0-5); `--wait` waits for the clusters.

use clap::Args;
use domain::workload::PublishResult;
use domain::{Digest, Severity};
use serde::Serialize;
use wire::{PublishRequest, WorkloadStatus};

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, count_findings};
use crate::wait::{WaitCondition, WaitOutcome, WaitTimeout, WorkloadWait};

/// Publish the draft of a workload to the clusters that its placement selects
///
/// With --wait the command exits with 0 when all clusters are Healthy, with 4 when some failed and none is in progress, and
/// with 5 when --timeout expires. The wait continues over a restart of the server.
#[derive(Args)]
pub struct PublishArgs {
    /// Name of the workload
    pub workload: String,
    /// Message for the history
    #[arg(short, long, default_value = "", value_name = "TEXT")]
    message: String,
    /// Publish only if the plan still has this hash, as "flotilla plan" prints it
    #[arg(long, value_name = "HASH")]
    plan: Option<Digest>,
    /// Number of clusters that lose the workload; required if it is more than a fifth of those that have it
    #[arg(long, value_name = "NUMBER")]
    confirm: Option<u32>,
    /// Wait until all clusters are Healthy
    #[arg(short, long)]
    wait: bool,
    /// With --wait: timeout, such as 30s, 5m or none
    #[arg(long, default_value = "none", value_name = "TIME")]
    timeout: WaitTimeout,
    #[command(flatten)]
    output: OutputArgs,
}

/// The output for programs.
#[derive(Serialize)]
struct PublishOutput<'a> {
    #[serde(flatten)]
    published: &'a PublishResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a WorkloadStatus>,
}

impl PublishArgs {
    /// Sets the message if none is set.
    pub fn with_default_message(mut self, message: &str) -> Self {
        if self.message.is_empty() {
            self.message = message.to_owned();
        }
        self
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let request = PublishRequest {
            message: self.message.clone(),
            plan_hash: self.plan.clone(),
            confirm: self.confirm,
        };
        let published = remote.client.publish_workload(&self.workload, &request, None).await?;
        let machine = self.output.format.is_machine();
        if !machine {
            out.print_line(&format_published(&self.workload, &published))?;
        }
        // "apply" has already printed the notes.
        let (important, notes): (Vec<_>, Vec<_>) =
            published.findings.iter().cloned().partition(|finding| finding.severity > Severity::Note);
        out.print_findings_note(&important, &str::to_owned);
        if !notes.is_empty() && !machine {
            out.print_note(&count_findings(&notes));
        }
        let ended =
            if self.wait { Some(self.wait_for_clusters(remote, &published, out).await?) } else { None };
        if machine {
            let status = ended.as_ref().map(|ended| &ended.last_status);
            out.print_value(&PublishOutput { published: &published, status }, self.output.format)?;
        }
        match ended {
            Some(ended) => self.print_outcome(&published, &ended, out),
            None if published.clusters.is_empty() => {
                out.print_warning(&self.no_cluster_message());
                Ok(ExitStatus::Success)
            }
            None => Ok(ExitStatus::Success),
        }
    }

    async fn wait_for_clusters(
        &self,
        remote: &ServerConnection,
        published: &PublishResult,
        out: &Printer,
    ) -> Result<WaitOutcome, Failure> {
        let condition =
            WaitCondition::Deployed { revision: published.revision, clusters: published.clusters.clone() };
        let follow = WorkloadWait {
            client: &remote.client,
            workload: &self.workload,
            timeout: self.timeout,
            condition,
        };
        follow.run(out).await
    }

    /// Prints the outcome of the wait.
    fn print_outcome(
        &self,
        published: &PublishResult,
        ended: &WaitOutcome,
        out: &Printer,
    ) -> Result<ExitStatus, Failure> {
        let name = &self.workload;
        match ended.exit {
            ExitStatus::Success if ended.last_status.counts.targeted() == 0 => Err(Failure::new(
                self.no_cluster_message(),
                "Select clusters with \"flotilla apply\" and publish again.",
            )),
            ExitStatus::Success => {
                let running = ended.last_status.counts.targeted();
                let plural = if running == 1 { "" } else { "s" };
                out.print_note(&format!(
                    "{name} revision {} runs on {running} cluster{plural} ({}).",
                    published.revision,
                    ended.elapsed_text()
                ));
                Ok(ExitStatus::Success)
            }
            _ => ended.to_result(name, "publish", out),
        }
    }

    fn no_cluster_message(&self) -> String {
        let name = &self.workload;
        format!(
            "{name} is published, but runs on no cluster: its placement selects none (flotilla explain placement {name})."
        )
    }
}

fn format_published(name: &str, published: &PublishResult) -> String {
    let count = published.clusters.len();
    let plural = if count == 1 { "" } else { "s" };
    format!("workload/{name} published: revision {}, {count} cluster{plural}", published.revision)
}
