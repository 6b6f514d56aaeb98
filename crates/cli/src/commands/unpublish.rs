//! `flotilla unpublish`: takes a workload back from its clusters; the draft stays (S0-1, R-7).

use clap::Args;
use domain::workload::DeletionPolicy;
use wire::UnpublishRequest;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::{Follow, Goal, Timeout};
use crate::output::Out;
use crate::remote::Remote;

/// Take a workload back from its clusters; the draft stays
#[derive(Args)]
pub struct Unpublish {
    /// Name of the workload
    pub workload: String,
    #[command(flatten)]
    leaving: Leaving,
}

/// How a workload leaves its clusters.
#[derive(Args)]
pub struct Leaving {
    /// Wait until it runs nowhere
    #[arg(short, long)]
    pub wait: bool,
    /// With --wait: at most so long, such as 30s, 5m or none
    #[arg(long, default_value = "none", value_name = "TIME")]
    pub timeout: Timeout,
    /// Leave the objects on the clusters; only the record goes
    #[arg(long)]
    pub orphan: bool,
    /// Give clusters up that are not heard from; their objects stay there
    #[arg(long)]
    pub force: bool,
}

impl Leaving {
    /// The request it means.
    pub fn request(&self) -> UnpublishRequest {
        UnpublishRequest { deletion: self.orphan.then_some(DeletionPolicy::Orphan), force: self.force }
    }

    /// Waits for the goal, if that was asked for.
    pub async fn follow(
        &self,
        remote: &Remote,
        workload: &str,
        out: &Out,
        goal: Goal,
    ) -> Result<Exit, Failure> {
        if !self.wait {
            return Ok(Exit::Done);
        }
        let follow = Follow { client: &remote.client, workload, timeout: self.timeout, goal };
        let ended = follow.run(out).await?;
        if ended.exit == Exit::Done {
            out.note(&format!("{workload} runs nowhere any more ({}).", ended.took_words()));
        }
        ended.failure(workload, "removal", out)
    }
}

impl Unpublish {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        remote.client.workload_unpublish(&self.workload, &self.leaving.request()).await?;
        out.line(&format!("workload/{} unpublished", self.workload))?;
        self.leaving.follow(remote, &self.workload, out, Goal::RunsNowhere).await
    }
}
