//! `flotilla incidents`: why workloads need attention, by cause (S0-13, E-12).

use clap::{Args, Subcommand};
use domain::incident::{IncidentQuery, IncidentState, IncidentSummary};
use domain::notification::IncidentDetails;
use domain::page::MAX_LIMIT;
use domain::{IncidentId, Timestamp};

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table, sanitize};
use crate::resources::deliveries::describe_delivery;

/// Show why workloads need attention, by cause, and acknowledge it; without a subcommand, list the incidents
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct IncidentsArgs {
    #[command(subcommand)]
    command: Option<IncidentsCommand>,
    #[command(flatten)]
    list: ListIncidentsArgs,
}

/// The subcommands for incidents.
#[derive(Subcommand)]
pub enum IncidentsCommand {
    List(ListIncidentsArgs),
    /// Show an incident: its cause, its clusters, and what was sent about it
    Get {
        /// Id of the incident
        incident: IncidentId,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Record that you work on an incident
    Ack {
        /// Id of the incident
        incident: IncidentId,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// List incidents, newest first
#[derive(Args)]
pub struct ListIncidentsArgs {
    /// Only those in this state: open or closed [default: open]
    #[arg(long, value_name = "STATE", value_parser = parse_state, conflicts_with = "all")]
    state: Option<IncidentState>,
    /// Also closed ones
    #[arg(long)]
    all: bool,
    /// Only those of this workload
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
    limit: u32,
    #[command(flatten)]
    output: OutputArgs,
}

fn parse_state(text: &str) -> Result<IncidentState, String> {
    IncidentState::parse(text).ok_or_else(|| "the states are open and closed".to_owned())
}

impl IncidentsArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self.command {
            None => self.list.run(remote, out).await,
            Some(IncidentsCommand::List(list)) => list.run(remote, out).await,
            Some(IncidentsCommand::Get { incident, output }) => {
                print_details(&remote.client.get_incident(incident).await?, &output, out)
            }
            Some(IncidentsCommand::Ack { incident, output }) => {
                let details = remote.client.acknowledge_incident(incident).await?;
                if output.format.is_machine() {
                    out.print_value(&details, output.format)?;
                } else {
                    let by = details.incident.acknowledged_by.as_deref().unwrap_or("nobody: it is closed");
                    out.print_line(&format!("incident/{incident} acknowledged by {}", sanitize(by)))?;
                }
                Ok(ExitStatus::Success)
            }
        }
    }
}

impl ListIncidentsArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let state = if self.all { None } else { Some(self.state.unwrap_or_default()) };
        let query = IncidentQuery {
            state,
            workload: self.workload.unwrap_or_default(),
            limit: Some(self.limit),
            ..IncidentQuery::default()
        };
        let page = remote.client.list_incidents(&query).await?;
        if self.output.format.is_machine() {
            out.print_value(&page, self.output.format)?;
            return Ok(ExitStatus::Success);
        }
        let nothing = match state {
            Some(IncidentState::Open) => "There is no open incident.",
            _ => "There is no incident.",
        };
        out.print_table(&incidents_table(&page.items), nothing)?;
        if page.next.is_some() {
            out.print_note(&format!("{} of {} incidents; --limit shows more.", page.items.len(), page.total));
        }
        Ok(ExitStatus::Success)
    }
}

fn incidents_table(incidents: &[IncidentSummary]) -> Table {
    let now = clock::now();
    let mut table = Table::new(&["ID", "WORKLOAD", "STATE", "CLUSTERS", "SINCE", "ACK", "CAUSE"]);
    for incident in incidents {
        let row = table.add_row().text(incident.id.to_string()).text(&incident.workload);
        let row = row.text(incident.state.as_str()).text(incident.cluster_text());
        let row = row.text(clock::format_age(incident.since, now));
        row.text(incident.acknowledged_by.as_deref().unwrap_or("-")).text(&incident.cause);
    }
    table
}

fn print_details(
    details: &IncidentDetails,
    output: &OutputArgs,
    out: &Printer,
) -> Result<ExitStatus, Failure> {
    if output.format.is_machine() {
        out.print_value(details, output.format)?;
        return Ok(ExitStatus::Success);
    }
    let (incident, now) = (&details.incident, clock::now());
    out.print_line(&sanitize(&incident.headline()))?;
    out.print_table(&details_table(details, now), "")?;
    let mut table = Table::new(&["CLUSTER", "SINCE", "RECOVERED"]);
    for cluster in &incident.cluster_details {
        let recovered = cluster.recovered_at.map(|at| format!("{} ago", clock::format_age(at, now)));
        let row = table.add_row().text(&cluster.name).text(clock::format_age(cluster.since, now));
        row.text(recovered.as_deref().unwrap_or("-"));
    }
    out.print_table(&table, "It concerns the workload as a whole.")?;
    print_deliveries(details, out)?;
    Ok(ExitStatus::Success)
}

/// What it is about, why, and what to do.
fn details_table(details: &IncidentDetails, now: Timestamp) -> Table {
    let incident = &details.incident;
    let mut table = Table::new(&["FIELD", "VALUE"]);
    let mut add = |field: &str, value: &str| {
        if !value.is_empty() {
            table.add_row().text(field).text(value);
        }
    };
    add("kind", incident.kind.label());
    add("cause", &incident.cause);
    add("reason", &incident.reason);
    add("object", &incident.object);
    add("container", &incident.container);
    add("pod", &incident.pod);
    add("what to do", &incident.hint);
    add("owners", &details.owners.join(", "));
    if let Some(change) = &incident.preceding_change {
        let age = clock::format_age(change.at, now);
        add("change before", &format!("{} ({}, {age} ago)", change.message, change.actor));
    }
    add("acknowledged", incident.acknowledged_by.as_deref().unwrap_or("by nobody"));
    table
}

fn print_deliveries(details: &IncidentDetails, out: &Printer) -> Result<(), Failure> {
    let now = clock::now();
    let mut table = Table::new(&["CHANNEL", "MESSAGE", "STATE", "ATTEMPTS", "DETAIL"]);
    for delivery in &details.deliveries {
        let (state, detail) = describe_delivery(delivery, now);
        let row = table.add_row().text(&delivery.channel).text(delivery.kind.as_str()).text(state);
        row.text(delivery.attempts.to_string()).text(detail);
    }
    for skipped in &details.skipped_subscriptions {
        let row = table.add_row().text(&skipped.channel).text("-").text("not sent").text("-");
        row.text(format!("{}: {}", skipped.scope, skipped.reason));
    }
    out.print_table(
        &table,
        "Nobody is notified: flotilla subscription create --channel CHANNEL --workload WORKLOAD",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::ColourMode;

    #[test]
    fn e12_a_rollout_that_waits_is_shown_with_its_kind_its_cause_and_what_to_do() {
        let at = Timestamp::from_millis(1_763_665_200_000);
        let details: IncidentDetails = serde_json::from_value(serde_json::json!({
            "id": IncidentId::from_parts(1, 1), "workload": "web", "kind": "rollout", "state": "open", "clusters": [],
            "cause": "Rollout r2: wave 2 of 2 (rest) waits for an approval.", "reason": "AwaitingApproval",
            "object": "Rollout r2", "hint": "Approve the wave: flotilla rollout approve.",
            "since": at, "openedAt": at.plus_millis(3_600_000), "owners": ["team-web"],
        }))
        .unwrap();
        assert_eq!(details.incident.headline(), "The rollout of web waits for a person");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = details_table(&details, at).render(None, ColourMode::new(false));
        let shown: Vec<String> = text.lines().map(words).collect();
        for line in [
            "kind Rollout that waits",
            "cause Rollout r2: wave 2 of 2 (rest) waits for an approval.",
            "what to do Approve the wave: flotilla rollout approve.",
            "owners team-web",
        ] {
            assert!(shown.iter().any(|shown| shown == line), "{line}: {text}");
        }
        let list = incidents_table(&[details.incident]).render(None, ColourMode::new(false));
        assert!(words(&list).contains(" web open - "), "{list}");
    }
}
