//! `flotilla events`: lists events, oldest first, and watches for new ones (`-w`).

use clap::Args;
use domain::event::Event;
use wire::{EventPage, EventQuery};

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, sanitize};
use crate::wait::ChangeSignals;

/// Events per request while watching.
const PAGE_SIZE: u32 = 500;

/// Show events: publishes, placements, state changes, drift
#[derive(Args)]
pub struct EventsArgs {
    /// Only of this workload
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// Only of this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Watch for new events, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl EventsArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        // The stream is opened before the first request, so that no event is missed in between.
        let signals = self.watch.then(|| ChangeSignals::start(&remote.client));
        let page = self.list_newest(remote).await?;
        let last = page.items.first().map_or(0, |event| event.seq);
        if let Some(signals) = signals {
            for event in page.items.iter().rev() {
                self.print_event(event, out)?;
            }
            return self.watch_events(remote, out, (signals, last)).await;
        }
        if self.output.format.is_machine() {
            out.print_value(&page, self.output.format)?;
        } else {
            out.print_table(&events_table(&page.items, self.output.format), "There are no events yet.")?;
        }
        Ok(ExitStatus::Success)
    }

    fn build_filter(&self, before: Option<i64>, limit: u32) -> EventQuery {
        EventQuery {
            before,
            limit: Some(limit),
            workload: self.workload.clone(),
            cluster: self.cluster.clone(),
        }
    }

    async fn watch_events(
        &self,
        remote: &ServerConnection,
        out: &Printer,
        (mut signals, mut last): (ChangeSignals, i64),
    ) -> Result<ExitStatus, Failure> {
        let going = async {
            loop {
                signals.wait().await;
                match self.list_since(remote, last).await {
                    Ok(events) => {
                        for event in events.iter().rev() {
                            self.print_event(event, out)?;
                        }
                        last = events.first().map_or(last, |event| event.seq);
                    }
                    Err(error) if crate::wait::is_transient(&error) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        };
        tokio::select! {
            ended = going => ended,
            _ = tokio::signal::ctrl_c() => Ok(ExitStatus::Interrupted),
        }
    }

    /// The newest events, from as many pages as they need: a page of long ones ends early.
    async fn list_newest(&self, remote: &ServerConnection) -> Result<EventPage, wire::Error> {
        let mut all = EventPage::default();
        loop {
            let missing = self.limit.saturating_sub(u32::try_from(all.items.len()).unwrap_or(u32::MAX));
            if missing == 0 {
                return Ok(all);
            }
            let page = remote.client.list_events(&self.build_filter(all.next, missing)).await?;
            all.items.extend(page.items);
            all.next = page.next;
            if all.next.is_none() {
                return Ok(all);
            }
        }
    }

    /// The events after `last`, newest first.
    async fn list_since(&self, remote: &ServerConnection, last: i64) -> Result<Vec<Event>, wire::Error> {
        let (mut events, mut before) = (Vec::new(), None);
        loop {
            let page = remote.client.list_events(&self.build_filter(before, PAGE_SIZE)).await?;
            let (given, known) = (page.items.len(), events.len());
            events.extend(page.items.into_iter().take_while(|event| event.seq > last));
            if events.len() - known < given || page.next.is_none() {
                return Ok(events);
            }
            before = page.next;
        }
    }

    fn print_event(&self, event: &Event, out: &Printer) -> Result<(), Failure> {
        if self.output.format.is_machine() {
            return out.print_streamed(event, self.output.format);
        }
        let about: Vec<&str> = [&*event.workload_name, &*event.cluster_name]
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect();
        let text =
            format!("{}  {}  {}  {}", event.at, event.severity.as_str(), about.join(" on "), event.message);
        out.print_line(&sanitize(&text))
    }
}

fn events_table(events: &[Event], format: Format) -> Table {
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["AGE", "SEVERITY", "WORKLOAD", "CLUSTER", "MESSAGE"];
    if wide {
        head.extend(["ACTOR", "KIND", "POSITION", "AT"]);
    }
    let mut table = Table::new(&head);
    for event in events.iter().rev() {
        let row = table
            .add_row()
            .text(clock::format_age(event.at, now))
            .severity(event.severity)
            .text(&event.workload_name);
        let row = row.text(&event.cluster_name).text(&event.message);
        if wide {
            row.text(&event.actor)
                .text(event.kind.to_json_name())
                .number(event.seq)
                .text(event.at.to_string());
        }
    }
    table
}
