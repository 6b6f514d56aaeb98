//! `flotilla publish`: freezes the draft and brings it to its clusters (S0-1 … S0-5); with `--wait` it stays until they
//! have it.

use clap::Args;
use domain::workload::Published;
use domain::{Digest, Severity};
use serde::Serialize;
use wire::{PublishRequest, Status};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::{Ended, Follow, Goal, Timeout};
use crate::output::{Out, Output, summary};
use crate::remote::Remote;

/// Publish the draft of a workload to the clusters its placement chooses
///
/// With --wait the command ends with 0 when all clusters are Healthy, with 4 when some failed and nothing is on its way
/// any more, and with 5 when --timeout is over. A server that is restarted meanwhile is waited for.
#[derive(Args)]
pub struct Publish {
    /// Name of the workload
    pub workload: String,
    /// Why, for the history
    #[arg(short, long, default_value = "", value_name = "TEXT")]
    message: String,
    /// Only what this plan showed: its hash, as "flotilla plan" prints it
    #[arg(long, value_name = "HASH")]
    plan: Option<Digest>,
    /// How many clusters may lose the workload, when it is more than a fifth of those that have it
    #[arg(long, value_name = "NUMBER")]
    confirm: Option<u32>,
    /// Wait until all clusters are Healthy
    #[arg(short, long)]
    wait: bool,
    /// With --wait: at most so long, such as 30s, 5m or none
    #[arg(long, default_value = "none", value_name = "TIME")]
    timeout: Timeout,
    #[command(flatten)]
    output: Output,
}

/// What programs read.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    published: &'a Published,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a Status>,
}

impl Publish {
    /// The same with this message, unless it has one.
    pub fn or_message(mut self, message: &str) -> Self {
        if self.message.is_empty() {
            self.message = message.to_owned();
        }
        self
    }

    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let request = PublishRequest {
            message: self.message.clone(),
            plan_hash: self.plan.clone(),
            confirm: self.confirm,
        };
        let published = remote.client.workload_publish(&self.workload, &request, None).await?;
        let machine = self.output.format.is_machine();
        if !machine {
            out.line(&told(&self.workload, &published))?;
        }
        // Notes were said by "apply" already.
        let (weighty, notes): (Vec<_>, Vec<_>) =
            published.findings.iter().cloned().partition(|finding| finding.severity > Severity::Note);
        out.note_findings(&weighty, &str::to_owned);
        if !notes.is_empty() && !machine {
            out.note(&summary(&notes));
        }
        let ended = if self.wait { Some(self.follow(remote, &published, out).await?) } else { None };
        if machine {
            let status = ended.as_ref().map(|ended| &ended.last);
            out.value(&Answer { published: &published, status }, self.output.format)?;
        }
        match ended {
            Some(ended) => self.end(&published, &ended, out),
            None if published.clusters.is_empty() => {
                out.warn(&self.nowhere());
                Ok(Exit::Done)
            }
            None => Ok(Exit::Done),
        }
    }

    async fn follow(&self, remote: &Remote, published: &Published, out: &Out) -> Result<Ended, Failure> {
        let goal = Goal::Runs { revision: published.revision, clusters: published.clusters.clone() };
        let follow = Follow { client: &remote.client, workload: &self.workload, timeout: self.timeout, goal };
        follow.run(out).await
    }

    /// The last words.
    fn end(&self, published: &Published, ended: &Ended, out: &Out) -> Result<Exit, Failure> {
        let name = &self.workload;
        match ended.exit {
            Exit::Done if ended.last.counts.targeted() == 0 => Err(Failure::new(
                self.nowhere(),
                "Choose clusters with \"flotilla apply\" and publish again.",
            )),
            Exit::Done => {
                let running = ended.last.counts.targeted();
                let plural = if running == 1 { "" } else { "s" };
                out.note(&format!(
                    "{name} revision {} runs on {running} cluster{plural} ({}).",
                    published.revision,
                    ended.took_words()
                ));
                Ok(Exit::Done)
            }
            _ => ended.failure(name, "publish", out),
        }
    }

    fn nowhere(&self) -> String {
        let name = &self.workload;
        format!(
            "{name} is published, but runs nowhere: its placement chooses no cluster (flotilla explain placement {name})."
        )
    }
}

fn told(name: &str, published: &Published) -> String {
    let count = published.clusters.len();
    let plural = if count == 1 { "" } else { "s" };
    format!("workload/{name} published: revision {}, {count} cluster{plural}", published.revision)
}
