//! `flotilla rollout`: how a revision goes through its waves, and what may be said to that (`product.md` F.4b).

use clap::{Args, Subcommand};
use domain::rollout::{Rollout as Model, RolloutVerb};

use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, Out, Output, Table, clean};
use crate::remote::Remote;

/// What to do with a rollout.
#[derive(Subcommand)]
pub enum Rollout {
    Status(Status),
    /// Let no more clusters through
    Pause(Named),
    /// Go on; clusters that fail now are let pass
    Resume(Named),
    /// Say yes to the wave that waits for it
    Approve(Named),
    /// Go on to the next wave without waiting for the end of the soak time
    Promote(Named),
    /// End it: clusters that it has not reached keep what they have
    Abort(Named),
}

/// Show the waves of a rollout
#[derive(Args)]
pub struct Status {
    /// Name of the workload
    workload: String,
    /// Of this revision; left out, the published one
    #[arg(short, long, value_name = "N")]
    revision: Option<u32>,
    #[command(flatten)]
    output: Output,
}

/// A workload by name.
#[derive(Args)]
pub struct Named {
    /// Name of the workload
    workload: String,
}

impl Rollout {
    /// The workload it is about.
    pub fn workload(&self) -> &str {
        match self {
            Self::Status(status) => &status.workload,
            Self::Pause(named)
            | Self::Resume(named)
            | Self::Approve(named)
            | Self::Promote(named)
            | Self::Abort(named) => &named.workload,
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let (verb, named) = match self {
            Self::Status(status) => return status.run(remote, out).await,
            Self::Pause(named) => (RolloutVerb::Pause, named),
            Self::Resume(named) => (RolloutVerb::Resume, named),
            Self::Approve(named) => (RolloutVerb::Approve, named),
            Self::Promote(named) => (RolloutVerb::Promote, named),
            Self::Abort(named) => (RolloutVerb::Abort, named),
        };
        let rollout = remote.client.rollout_steer(&named.workload, verb).await?;
        let Named { workload } = named;
        out.line(&format!("rollout of {workload} revision {} {}", rollout.revision, verb.done()))?;
        out.note(&clean(&rollout.sentence(clock::now())));
        Ok(Exit::Done)
    }
}

impl Status {
    async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let rollout = remote.client.rollout_get(&self.workload, self.revision).await?;
        if self.output.format.is_machine() {
            out.value(&rollout, self.output.format)?;
            return Ok(Exit::Done);
        }
        out.line(&format!("Revision {}: {}", rollout.revision, clean(&rollout.sentence(clock::now()))))?;
        out.table(&table(&rollout, self.output.format), "")?;
        Ok(Exit::Done)
    }
}

fn table(rollout: &Model, format: Format) -> Table {
    let now = clock::now();
    let mut head =
        vec!["WAVE", "STATE", "CLUSTERS", "WAITING", "MOVING", "OPERATIONAL", "OFFLINE", "FAILING"];
    if format == Format::Wide {
        head.extend(["SOAK", "OPENED", "DONE", "APPROVED BY"]);
    }
    let mut table = Table::new(&head);
    for (at, (wave, progress)) in rollout.strategy.waves.iter().zip(&rollout.waves).enumerate() {
        let counts = [
            progress.clusters,
            progress.held,
            progress.moving,
            progress.operational,
            progress.deferred,
            progress.failing,
        ];
        let row = table.row().text(&progress.name).text(rollout.wave_word(at));
        let row = counts.into_iter().fold(row, |row, count| row.text(count.to_string()));
        if format == Format::Wide {
            let age = |at: Option<domain::Timestamp>| at.map(|at| at.age(now)).unwrap_or_default();
            row.text(wave.soak.as_ref().map(ToString::to_string).unwrap_or_default())
                .text(age(progress.opened_at))
                .text(age(progress.done_at))
                .text(progress.approved_by.clone().unwrap_or_default());
        }
    }
    table
}
