//! `flotilla status`: how a workload does on each of its clusters. There is no single status (S1-19).

use clap::Args;
use wire::{Client, Status as Answer};

use super::get;
use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::{Progress, Signals, Stream, is_passing};
use crate::output::{Format, Out, Output, Table};
use crate::remote::Remote;

/// Show how a workload does on each of its clusters, worst first; without a name, how all workloads do
#[derive(Args)]
pub struct Status {
    /// Name of the workload
    pub workload: Option<String>,
    /// Go on with what changes, until Ctrl-C
    #[arg(short, long, requires = "workload")]
    watch: bool,
    #[command(flatten)]
    output: Output,
}

impl Status {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let Some(workload) = self.workload else {
            get::list(remote, self.output.format, out).await?;
            return Ok(Exit::Done);
        };
        if self.watch {
            return tokio::select! {
                ended = follow(&remote.client, &workload, self.output.format, out) => ended,
                _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
            };
        }
        let status = remote.client.workload_status(&workload, None).await?;
        if self.output.format.is_machine() {
            out.value(&status, self.output.format)?;
            return Ok(Exit::Done);
        }
        let nothing = format!(
            "{workload} is on no cluster. \"flotilla publish {workload}\" publishes it; \"flotilla explain placement {workload}\" says where it would go."
        );
        out.table(&table(&status, self.output.format), &nothing)?;
        Ok(Exit::Done)
    }
}

async fn follow(client: &Client, workload: &str, format: Format, out: &Out) -> Result<Exit, Failure> {
    let mut signals = Signals::start(client);
    let mut progress = Progress::new(Stream::Answer, out);
    let mut last = None;
    loop {
        match client.workload_status(workload, None).await {
            Ok(status) if last.as_ref() == Some(&status) => {}
            Ok(status) => {
                if format.is_machine() {
                    out.streamed(&status, format)?;
                } else {
                    progress.show(&status)?;
                }
                last = Some(status);
            }
            Err(error) if last.is_some() && is_passing(&error) => {}
            Err(error) => return Err(error.into()),
        }
        signals.next().await;
    }
}

fn table(status: &Answer, format: Format) -> Table {
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["CLUSTER", "STATE", "SYNC", "HEALTH", "REACH", "REVISION", "SINCE"];
    head.extend(if wide { &["STAGE", "LAST SEEN", "MESSAGE"][..] } else { &["MESSAGE"][..] });
    let mut table = Table::new(&head);
    for target in &status.target_clusters {
        let row = table.row().text(&target.cluster_name).state(target.state).text(target.sync.word());
        let row = row.text(target.health.status.word()).reach(target.reach);
        let row = row.text(target.revision.map(|revision| revision.to_string()).unwrap_or_default());
        let row = row.text(target.state_since.age(now));
        let row = if wide {
            let stage = target.stages.current();
            let stage = stage.map(|stage| format!("{} {}", stage.name.word(), stage.state.word()));
            let seen = target.last_seen.map(|seen| seen.age(now));
            row.text(stage.unwrap_or_else(|| "all done".to_owned())).text(seen.unwrap_or_default())
        } else {
            row
        };
        row.text(&target.message);
    }
    table
}
