//! `flotilla events`: what happened, and what happens (with `-w`). Oldest first, as a log is read.

use clap::Args;
use domain::event::Event;
use wire::EventQuery;

use crate::clock;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::Signals;
use crate::output::{Format, Out, Output, Table, clean};
use crate::remote::Remote;

/// Events asked for at once while following.
const PAGE: u32 = 500;

/// Show what happened: publishes, placements, state changes, drift
#[derive(Args)]
pub struct Events {
    /// Only of this workload
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// Only of this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Go on with what happens, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    output: Output,
}

impl Events {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        // Listening begins before the first look, so that nothing falls in between.
        let signals = self.watch.then(|| Signals::start(&remote.client));
        let page = remote.client.event_list(&self.query(None, self.limit)).await?;
        let last = page.items.first().map_or(0, |event| event.seq);
        if let Some(signals) = signals {
            for event in page.items.iter().rev() {
                self.print(event, out)?;
            }
            return self.follow(remote, out, (signals, last)).await;
        }
        if self.output.format.is_machine() {
            out.value(&page, self.output.format)?;
        } else {
            out.table(&table(&page.items, self.output.format), "Nothing has happened yet.")?;
        }
        Ok(Exit::Done)
    }

    fn query(&self, before: Option<i64>, limit: u32) -> EventQuery {
        EventQuery {
            before,
            limit: Some(limit),
            workload: self.workload.clone(),
            cluster: self.cluster.clone(),
        }
    }

    async fn follow(
        &self,
        remote: &Remote,
        out: &Out,
        (mut signals, mut last): (Signals, i64),
    ) -> Result<Exit, Failure> {
        let going = async {
            loop {
                signals.next().await;
                match self.since(remote, last).await {
                    Ok(events) => {
                        for event in events.iter().rev() {
                            self.print(event, out)?;
                        }
                        last = events.first().map_or(last, |event| event.seq);
                    }
                    Err(error) if crate::follow::is_passing(&error) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        };
        tokio::select! {
            ended = going => ended,
            _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        }
    }

    /// The events after `last`, newest first.
    async fn since(&self, remote: &Remote, last: i64) -> Result<Vec<Event>, wire::Error> {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let before = events.last().map(|event| event.seq);
            let page = remote.client.event_list(&self.query(before, PAGE)).await?;
            let given = page.items.len();
            let before = events.len();
            events.extend(page.items.into_iter().take_while(|event| event.seq > last));
            if events.len() - before < given || page.next.is_none() {
                return Ok(events);
            }
        }
    }

    fn print(&self, event: &Event, out: &Out) -> Result<(), Failure> {
        if self.output.format.is_machine() {
            return out.streamed(event, self.output.format);
        }
        let about: Vec<&str> = [&*event.workload_name, &*event.cluster_name]
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect();
        let text =
            format!("{}  {}  {}  {}", event.at, event.severity.word(), about.join(" on "), event.message);
        out.line(&clean(&text))
    }
}

fn table(events: &[Event], format: Format) -> Table {
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["AGE", "WEIGHT", "WORKLOAD", "CLUSTER", "MESSAGE"];
    if wide {
        head.extend(["WHO", "KIND", "POSITION", "AT"]);
    }
    let mut table = Table::new(&head);
    for event in events.iter().rev() {
        let row = table.row().text(event.at.age(now)).severity(event.severity).text(&event.workload_name);
        let row = row.text(&event.cluster_name).text(&event.message);
        if wide {
            row.text(&event.actor).text(event.kind.word()).number(event.seq).text(event.at.to_string());
        }
    }
    table
}
