//! `flotilla drift`: the drift inbox (E-9): what was changed on clusters, and a decision about each change.

use clap::{Args, Subcommand};
use domain::drift::{DriftField, DriftItem, DriftQuery, DriftState, DriftVerb};
use domain::page::MAX_LIMIT;
use domain::policy::DriftPolicy;
use serde_json::Value;

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, sanitize};
use crate::resources::CommandTarget;

mod decide;
mod selection;

use decide::{AdoptDriftArgs, IgnoreDriftArgs, RevertDriftArgs, SnoozeDriftArgs};
use selection::SelectionArgs;

/// Show what differs from what was applied, and decide about it; without a subcommand, list it
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DriftArgs {
    #[command(subcommand)]
    command: Option<DriftCommand>,
    #[command(flatten)]
    list: ListDriftArgs,
}

/// The subcommands for drift.
#[derive(Subcommand)]
pub enum DriftCommand {
    List(ListDriftArgs),
    Show(ShowDriftArgs),
    Revert(RevertDriftArgs),
    Adopt(AdoptDriftArgs),
    Ignore(IgnoreDriftArgs),
    Snooze(SnoozeDriftArgs),
}

/// List drift, contested objects first, then the oldest
#[derive(Args)]
pub struct ListDriftArgs {
    /// Only what is in this state: open or snoozed [default: open]
    #[arg(long, value_name = "STATE", value_parser = parse_state, conflicts_with = "all")]
    state: Option<DriftState>,
    /// Also what is snoozed
    #[arg(long)]
    all: bool,
    /// Only of this workload
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// Only on this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
    limit: u32,
    #[command(flatten)]
    output: OutputArgs,
}

/// Show the fields of a workload that drift on a cluster: last applied, live and desired value, and who changed them
#[derive(Args)]
pub struct ShowDriftArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    output: OutputArgs,
}

fn parse_state(text: &str) -> Result<DriftState, String> {
    DriftState::parse(text).ok_or_else(|| "the states are open and snoozed".to_owned())
}

impl DriftArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self.command {
            None => self.list.run(remote, out).await,
            Some(DriftCommand::List(list)) => list.run(remote, out).await,
            Some(DriftCommand::Show(show)) => show.run(remote, out).await,
            Some(DriftCommand::Revert(revert)) => revert.run(remote, out).await,
            Some(DriftCommand::Adopt(adopt)) => adopt.run(remote, out).await,
            Some(DriftCommand::Ignore(ignore)) => ignore.run(remote, out).await,
            Some(DriftCommand::Snooze(snooze)) => snooze.run(remote, out).await,
        }
    }

    /// What it is about, for hints.
    pub fn target(&self) -> CommandTarget {
        let selection = match &self.command {
            None | Some(DriftCommand::List(_)) => return CommandTarget::Unspecified,
            Some(DriftCommand::Show(show)) => &show.selection,
            Some(DriftCommand::Revert(revert)) => &revert.selection,
            Some(DriftCommand::Adopt(adopt)) => &adopt.selection,
            Some(DriftCommand::Ignore(ignore)) => &ignore.selection,
            Some(DriftCommand::Snooze(snooze)) => &snooze.selection,
        };
        CommandTarget::Workload(selection.workload.clone())
    }
}

impl ListDriftArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let state = if self.all { None } else { Some(self.state.unwrap_or_default()) };
        let query = DriftQuery {
            state,
            workload: self.workload.unwrap_or_default(),
            cluster: self.cluster.unwrap_or_default(),
            limit: Some(self.limit),
            ..DriftQuery::default()
        };
        let page = remote.client.list_drift(&query).await?;
        if self.output.format.is_machine() {
            out.print_value(&page, self.output.format)?;
            return Ok(ExitStatus::Success);
        }
        let nothing = match state {
            Some(DriftState::Snoozed) => "No drift is snoozed.",
            _ => "Nothing drifts.",
        };
        out.print_table(&drift_table(&page.items, self.output.format), nothing)?;
        if page.next.is_some() {
            out.print_note(&format!("{} of {} objects; --limit shows more.", page.items.len(), page.total));
        }
        Ok(ExitStatus::Success)
    }
}

fn drift_table(items: &[DriftItem], format: Format) -> Table {
    let now = clock::now();
    let is_wide = format == Format::Wide;
    let mut head = vec!["WORKLOAD", "CLUSTER", "OBJECT", "STATE", "SINCE", "CHANGED BY"];
    if is_wide {
        head.extend(["POLICY", "ID"]);
    }
    head.push("FIELDS");
    let mut table = Table::new(&head);
    for item in items {
        let row = table.add_row().text(&item.workload).text(&item.cluster).text(item.object.to_string());
        let row = row.text(describe_state(item)).text(clock::format_age(item.since, now));
        let row = row.text(item.managers().join(", "));
        let row =
            if is_wide { row.text(describe_policy(item.policy)).text(item.id.to_string()) } else { row };
        row.text(describe_fields(item));
    }
    table
}

fn describe_state(item: &DriftItem) -> &'static str {
    match item.state {
        DriftState::Snoozed => "snoozed",
        DriftState::Open if item.contested => "contested",
        DriftState::Open => "open",
    }
}

const fn describe_policy(policy: DriftPolicy) -> &'static str {
    match policy {
        DriftPolicy::Revert => "revert",
        DriftPolicy::Notify => "notify",
    }
}

/// The first fields and the number of the others.
fn describe_fields(item: &DriftItem) -> String {
    if item.is_missing() {
        return "the object is missing".to_owned();
    }
    let paths: Vec<&str> = item.fields.iter().map(|field| field.path.as_str()).collect();
    match item.more_fields() {
        0 => paths.join(", "),
        more if paths.is_empty() => format!("{more} fields"),
        more => format!("{} and {more} more", paths.join(", ")),
    }
}

impl ShowDriftArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let items = self.selection.read_details(remote).await?;
        if self.output.format.is_machine() {
            out.print_value(&items, self.output.format)?;
            return Ok(ExitStatus::Success);
        }
        for (number, item) in items.iter().enumerate() {
            if number > 0 {
                out.print_line("")?;
            }
            print_item(item, out)?;
        }
        Ok(ExitStatus::Success)
    }
}

fn print_item(item: &DriftItem, out: &Printer) -> Result<(), Failure> {
    let now = clock::now();
    let age = clock::format_age(item.since, now);
    let policy = describe_policy(item.policy);
    let state = describe_state(item);
    out.print_line(&sanitize(&format!(
        "{} of {} on {}: {state} for {age}, policy {policy}",
        item.object, item.workload, item.cluster
    )))?;
    let mut table = Table::new(&["FIELD", "APPLIED", "LIVE", "DESIRED", "CHANGED BY"]);
    for field in &item.fields {
        let row = table.add_row().text(&field.path);
        let row = row.text(format_value(field.applied.as_ref(), field.values_known));
        let row = row.text(format_value(field.live.as_ref(), field.values_known));
        let row = row.text(format_value(field.desired.as_ref(), field.desired_known));
        row.text(describe_writer(field));
    }
    out.print_table(&table, "The object is missing on the cluster; revert creates it again.")?;
    if item.more_fields() > 0 {
        out.print_note(&format!("and {} more fields, which the cluster did not report.", item.more_fields()));
    }
    if let Some(snooze) = &item.snooze {
        out.print_note(&format!("Snoozed by {} until {}.", snooze.by, snooze.until));
    }
    if let Some(revert) = &item.revert {
        let paths = revert.paths.join(", ");
        out.print_note(&match &revert.error {
            Some(why) => format!("The revert of {paths} by {} was not executed. {why}", revert.by),
            None => format!("{} reverts {paths}; the cluster has not answered yet.", revert.by),
        });
    }
    for verb in DriftVerb::ALL {
        if let Some(why) = item.why_not(*verb) {
            let name: &'static str = (*verb).into();
            out.print_note(&format!("{name}: {why}"));
        }
    }
    Ok(())
}

/// `kubectl-edit (Update, 5m ago)`.
fn describe_writer(field: &DriftField) -> String {
    if field.manager.is_empty() {
        return "unknown".to_owned();
    }
    let age = field.changed_at.map(|at| format!("{} ago", clock::format_age(at, clock::now())));
    let parts: Vec<String> = [field.operation.clone(), age.unwrap_or_default()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() { field.manager.clone() } else { format!("{} ({})", field.manager, parts.join(", ")) }
}

fn format_value(value: Option<&Value>, is_known: bool) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None if is_known => "not set".to_owned(),
        None => "not reported".to_owned(),
    }
}
