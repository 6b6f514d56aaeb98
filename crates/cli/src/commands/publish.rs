//! `flotilla publish`: creates a revision from the draft and deploys it (S0-1 … S0-5); `--wait` waits for the clusters.

use clap::Args;
use domain::release::ReleaseView;
use domain::workload::{PublishResult, PublishValidation};
use domain::{Digest, Finding, Severity};
use serde::Serialize;
use wire::{PublishRequest, WorkloadStatus};

use crate::commands::plan::describe_force;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, count_findings, pluralize};
use crate::wait::{WaitCondition, WaitOutcome, WaitTimeout, WorkloadWait};

/// Most clusters that a failure describes with their drifted objects.
const MAX_DRIFTED_CLUSTERS: usize = 10;

/// Publish the draft of a workload to the clusters that its placement selects
///
/// With --wait the command exits with 0 when all clusters are Healthy, with 4 when some failed, or drift while the drift
/// policy only notifies, and none is in progress, and with 5 when --timeout expires. The wait continues over a restart of the
/// server.
///
/// What a plan of the same changes was rejected for by the clusters is rejected here too (exit code 3), with and without
/// --plan. Without a plan no cluster has tried the changes, and the publish says so.
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
    /// Publish although clusters rejected the plan with this code, such as G406, although it replaces generated values (G125),
    /// or although other workloads depend on it where it is removed (G313); may be repeated. Only the codes that are named are forced
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    force: Vec<String>,
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

    /// Publishes the draft.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        self.publish(None, remote, out).await
    }

    /// Publishes an earlier revision again, or the draft.
    pub async fn publish(
        self,
        revision: Option<u32>,
        remote: &ServerConnection,
        out: &Printer,
    ) -> Result<ExitStatus, Failure> {
        let request = PublishRequest {
            revision,
            message: self.message.clone(),
            plan_hash: self.plan.clone(),
            confirm: self.confirm,
            force: self.force.clone(),
        };
        let published = remote.client.publish_workload(&self.workload, &request, None).await?;
        let machine = self.output.format.is_machine();
        if !machine {
            out.print_line(&format_published(&self.workload, &published))?;
        }
        // The plan with this hash has printed the warnings. Without one, an override, a group or another person may have caused
        // them since the last output of a log.
        let least = if self.plan.is_some() { Severity::Error } else { Severity::Warning };
        let (printed, others): (Vec<_>, Vec<_>) =
            published.findings.iter().cloned().partition(|finding| finding.severity >= least);
        out.print_findings_note(&printed, &str::to_owned);
        if !others.is_empty() && !machine {
            out.print_note(&self.describe_other_findings(&others, revision));
        }
        if let Some(note) = self.describe_validation(&published).filter(|_| !machine) {
            out.print_note(&note);
        }
        let ended =
            if self.wait { Some(self.wait_for_clusters(remote, &published, out).await?) } else { None };
        if machine {
            let status = ended.as_ref().map(|ended| &ended.last_status);
            out.print_value(&PublishOutput { published: &published, status }, self.output.format)?;
        }
        match ended {
            Some(ended) => self.print_outcome(remote, &published, &ended, out).await,
            None if published.clusters.is_empty() => {
                out.print_warning(&self.no_cluster_message());
                Ok(ExitStatus::Success)
            }
            None => Ok(ExitStatus::Success),
        }
    }

    /// The number of findings that are not printed, and the command that prints them.
    fn describe_other_findings(&self, findings: &[Finding], revision: Option<u32>) -> String {
        let (count, name) = (count_findings(findings), &self.workload);
        match revision {
            Some(number) => format!("{count}. \"flotilla plan {name} --revision {number}\" prints them."),
            None => format!("{count}. \"flotilla plan {name}\" prints them."),
        }
    }

    /// What the clusters said before about what is published, and whether it changes anything; `None` if all of them accepted
    /// a change.
    fn describe_validation(&self, published: &PublishResult) -> Option<String> {
        let (clusters, revision) = (published.clusters.len(), published.revision);
        let name = &self.workload;
        match &published.validation {
            PublishValidation::Unknown => None,
            PublishValidation::NotPlanned => Some(match published.unchanged_since {
                Some(before) => format!(
                    "The draft has not changed since revision {before}: revision {revision} has the same content."
                ),
                None => format!(
                    "Not validated by the clusters: there was no plan of these changes. \"flotilla plan {name}\" tries them on every cluster before a publish."
                ),
            }),
            PublishValidation::Planned { forced, .. } if !forced.is_empty() => Some(format!(
                "Forced: {}; {}.",
                forced.join(", "),
                describe_force(forced.iter().map(String::as_str))
            )),
            PublishValidation::Planned { no_op: true, .. } => Some(format!(
                "No changes: {clusters} {} already ran what revision {revision} contains.",
                pluralize(clusters, "cluster")
            )),
            PublishValidation::Planned { validated, .. } if (*validated as usize) < clusters => {
                Some(format!("Validated by {validated} of {clusters} clusters."))
            }
            PublishValidation::Planned { .. } => None,
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
    async fn print_outcome(
        &self,
        remote: &ServerConnection,
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
            ExitStatus::Partial
                if ended.last_status.counts.failing() == 0 && !ended.drifted_clusters().is_empty() =>
            {
                Err(self.drift_failure(remote, ended).await)
            }
            _ => ended.to_result(name, "publish", out),
        }
    }

    /// The failure that names what drifts. The drift policy only reports it, so the revision is not what runs there.
    async fn drift_failure(&self, remote: &ServerConnection, ended: &WaitOutcome) -> Failure {
        let (name, drifted) = (&self.workload, ended.drifted_clusters());
        let mut described = Vec::new();
        for cluster in drifted.iter().take(MAX_DRIFTED_CLUSTERS) {
            // What can't be read now is shown by "flotilla status".
            let release = remote.client.get_release(name, cluster).await;
            let objects = release.map(|release| describe_drift(&release)).unwrap_or_default();
            described.push(if objects.is_empty() {
                (*cluster).to_owned()
            } else {
                format!("{cluster} ({objects})")
            });
        }
        if drifted.len() > MAX_DRIFTED_CLUSTERS {
            described.push(format!("and {} more", drifted.len() - MAX_DRIFTED_CLUSTERS));
        }
        let verb = if drifted.len() == 1 { "drifts" } else { "drift" };
        Failure::with_exit(
            ExitStatus::Partial,
            format!(
                "{} of {} clusters {verb}: {}.",
                drifted.len(),
                ended.last_status.counts.targeted(),
                described.join(", ")
            ),
            format!(
                "The drift policy notify leaves these changes. \"flotilla sync {name}\" reverts them; to retain them, add them to the draft and publish."
            ),
        )
    }

    fn no_cluster_message(&self) -> String {
        let name = &self.workload;
        format!(
            "{name} is published, but runs on no cluster: its placement selects none (flotilla explain placement {name})."
        )
    }
}

/// The objects of a release that drift, with their fields.
fn describe_drift(release: &ReleaseView) -> String {
    let drifted = release.resources.iter().filter(|resource| !resource.drifted.is_empty());
    let objects: Vec<String> =
        drifted.map(|resource| format!("{}: {}", resource.object, resource.drifted.join(", "))).collect();
    objects.join("; ")
}

fn format_published(name: &str, published: &PublishResult) -> String {
    let count = published.clusters.len();
    let plural = if count == 1 { "" } else { "s" };
    format!("workload/{name} published: revision {}, {count} cluster{plural}", published.revision)
}
