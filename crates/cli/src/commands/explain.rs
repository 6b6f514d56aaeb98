//! `flotilla explain`: why the placement selects a cluster, or does not (E-3).

use clap::{Args, Subcommand};
use domain::nearest::find_nearest;
use domain::placement::{
    ClusterEvaluation, Decision, DecisionTrigger, FilterResult, PlacementFilter, Remedy, RemovalWait,
};

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{ColourMode, Format, OutputArgs, Printer, sanitize};

/// What to explain.
#[derive(Subcommand)]
pub enum ExplainCommand {
    Placement(ExplainPlacementArgs),
}

/// Explain for every cluster why it is selected for the workload or not
#[derive(Args)]
pub struct ExplainPlacementArgs {
    /// Name of the workload
    pub workload: String,
    /// Only this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl ExplainCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let Self::Placement(command) = self;
        let mut decision = remote.client.get_placement_decision(&command.workload).await?;
        if let Some(cluster) = &command.cluster {
            retain_cluster(&mut decision, cluster)?;
        }
        if command.output.format.is_machine() {
            out.print_value(&decision, command.output.format)?;
            return Ok(ExitStatus::Success);
        }
        out.print_line(&format_header(&command.workload, &decision, command.cluster.is_some()))?;
        let every_filter = command.output.format == Format::Wide || command.cluster.is_some();
        for evaluation in &decision.evaluations {
            out.print_line(&format_evaluation(evaluation, every_filter, out.stdout_colours()))?;
            if let Some(removal) =
                decision.pending_removals.iter().find(|one| one.cluster == evaluation.cluster)
            {
                out.print_line(&match (&removal.retained_by, removal.remove_after) {
                    (Some(actor), _) => {
                        format!("  still deployed; retained by {} until the next publish", sanitize(actor))
                    }
                    (None, _) if removal.waiting_for.is_some() => format!(
                        "  still deployed; the removal {}",
                        removal.waiting_for.map_or("", RemovalWait::description)
                    ),
                    (None, at) => format!(
                        "  still deployed, will be removed at {at} unless it matches again by then; \"flotilla retain {}\" cancels the removal",
                        command.workload
                    ),
                })?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

fn retain_cluster(decision: &mut Decision, cluster: &str) -> Result<(), Failure> {
    let names: Vec<String> = decision.evaluations.iter().map(|evaluation| evaluation.name.clone()).collect();
    decision.evaluations.retain(|evaluation| evaluation.name == cluster);
    if !decision.evaluations.is_empty() {
        return Ok(());
    }
    let near =
        find_nearest(cluster, names.iter().map(String::as_str)).map(|near| format!("Did you mean {near:?}?"));
    Err(Failure::new(
        format!("The decision has no cluster {cluster:?}."),
        near.unwrap_or_else(|| "\"flotilla get clusters\" lists them.".to_owned()),
    ))
}

fn format_header(workload: &str, decision: &Decision, single: bool) -> String {
    let when = match (decision.revision, decision.decided_at) {
        (Some(revision), Some(at)) => {
            format!("decided {at} for revision {revision}{}", trigger_text(decision.trigger))
        }
        _ => "a preview of the draft, which is not published".to_owned(),
    };
    if single {
        return format!("{workload}: {when}.");
    }
    let selected = decision.selected().count();
    format!("{workload} goes to {selected} of {} clusters ({when}).", decision.evaluations.len())
}

const fn trigger_text(trigger: DecisionTrigger) -> &'static str {
    match trigger {
        DecisionTrigger::FleetChanged => ", because clusters changed",
        DecisionTrigger::Published => ", because it was published",
        DecisionTrigger::Preview => "",
    }
}

fn format_evaluation(evaluation: &ClusterEvaluation, every_filter: bool, paint: ColourMode) -> String {
    let word = if evaluation.selected { paint.bold("selected") } else { "not selected".to_owned() };
    let mut text = format!("\n{}: {word}", sanitize(&evaluation.name));
    for result in evaluation.filters.iter().filter(|result| every_filter || is_reason(evaluation, result)) {
        text.push_str(&format!("\n  {}", format_result(result)));
        text.push_str(&format_remedy(result));
    }
    text
}

/// Whether the result is why the cluster is selected or not: what selected it is a reason, the other filters that it passed are
/// not.
pub(super) fn is_reason(evaluation: &ClusterEvaluation, result: &FilterResult) -> bool {
    !result.passed || (evaluation.selected && result.filter == PlacementFilter::Predicate)
}

/// "failed taints: required …; found …".
pub(super) fn format_result(result: &FilterResult) -> String {
    format!(
        "{} {}: required {}; found {}",
        if result.passed { "passed" } else { "failed" },
        filter_label(result.filter),
        sanitize(&result.expected.to_string()),
        sanitize(&result.actual.to_string())
    )
}

fn format_remedy(result: &FilterResult) -> String {
    let line = |remedy: &Remedy| format!("\n    fix: {}", sanitize(&remedy.to_string()));
    result.remedy.as_ref().map(line).unwrap_or_default()
}

const fn filter_label(filter: PlacementFilter) -> &'static str {
    match filter {
        PlacementFilter::Predicate => "selection",
        PlacementFilter::Exclude => "exclusion",
        PlacementFilter::Taint => "taints",
        PlacementFilter::Schedulable => "schedulable",
        PlacementFilter::Score => "score",
        PlacementFilter::Spread => "spread",
        PlacementFilter::Number => "number",
        PlacementFilter::NewMember => "new member",
    }
}
