//! `flotilla explain`: why a workload is on a cluster, or is not (E-3).

use clap::{Args, Subcommand};
use domain::placement::{Decision, Step, StepResult, Trigger, Verdict};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::output::{Format, Out, Output, Paint, clean};
use crate::remote::Remote;

/// What to explain.
#[derive(Subcommand)]
pub enum Explain {
    Placement(Placement),
}

/// Say for every cluster why the workload goes there or does not
#[derive(Args)]
pub struct Placement {
    /// Name of the workload
    pub workload: String,
    /// Only this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Explain {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let Self::Placement(command) = self;
        let mut decision = remote.client.placement_decision(&command.workload).await?;
        if let Some(cluster) = &command.cluster {
            only(&mut decision, cluster)?;
        }
        if command.output.format.is_machine() {
            out.value(&decision, command.output.format)?;
            return Ok(Exit::Done);
        }
        out.line(&head(&command.workload, &decision, command.cluster.is_some()))?;
        let every_step = command.output.format == Format::Wide || command.cluster.is_some();
        for verdict in &decision.verdicts {
            out.line(&told(verdict, every_step, out.paint()))?;
            if let Some(leaving) = decision.leaving.iter().find(|one| one.cluster == verdict.cluster) {
                out.line(&match (&leaving.kept_by, leaving.at) {
                    (Some(person), _) => {
                        format!("  it has it still; {} keeps it there until the next publish", clean(person))
                    }
                    (None, at) => format!(
                        "  it has it still and loses it at {at}, unless it matches again by then; \"flotilla keep {}\" leaves it there",
                        command.workload
                    ),
                })?;
            }
        }
        Ok(Exit::Done)
    }
}

fn only(decision: &mut Decision, cluster: &str) -> Result<(), Failure> {
    let names: Vec<String> = decision.verdicts.iter().map(|verdict| verdict.name.clone()).collect();
    decision.verdicts.retain(|verdict| verdict.name == cluster);
    if !decision.verdicts.is_empty() {
        return Ok(());
    }
    let near =
        nearest(cluster, names.iter().map(String::as_str)).map(|near| format!("Did you mean {near:?}?"));
    Err(Failure::new(
        format!("The decision says nothing about a cluster {cluster:?}."),
        near.unwrap_or_else(|| "\"flotilla get clusters\" lists them.".to_owned()),
    ))
}

fn head(workload: &str, decision: &Decision, single: bool) -> String {
    let when = match (decision.revision, decision.at) {
        (Some(revision), Some(at)) => {
            format!("decided {at} for revision {revision}{}", cause(decision.trigger))
        }
        _ => "a preview of the draft; nothing is published".to_owned(),
    };
    if single {
        return format!("{workload}: {when}.");
    }
    let chosen = decision.chosen().count();
    format!("{workload} goes to {chosen} of {} clusters ({when}).", decision.verdicts.len())
}

const fn cause(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::FleetChanged => ", because clusters changed",
        Trigger::Published => ", because it was published",
        Trigger::Preview => "",
    }
}

fn told(verdict: &Verdict, every_step: bool, paint: Paint) -> String {
    let word = if verdict.chosen { paint.bold("chosen") } else { "refused".to_owned() };
    let mut text = format!("\n{}: {word}", clean(&verdict.name));
    for step in verdict.steps.iter().filter(|step| every_step || !step.passed) {
        text.push_str(&format!(
            "\n  {} {}: asked {}; seen {}",
            if step.passed { "passed" } else { "failed" },
            name(step.step),
            or_nothing(&step.asked),
            or_nothing(&step.seen)
        ));
        text.push_str(&remedy(step));
    }
    text
}

fn remedy(step: &StepResult) -> String {
    if step.remedy.is_empty() { String::new() } else { format!("\n    fix: {}", clean(&step.remedy)) }
}

fn or_nothing(text: &str) -> String {
    if text.is_empty() { "nothing".to_owned() } else { clean(text) }
}

const fn name(step: Step) -> &'static str {
    match step {
        Step::Predicate => "selection",
        Step::Exclude => "exclusion",
        Step::Taint => "taints",
        Step::Schedulable => "schedulable",
        Step::Score => "score",
        Step::Spread => "spread",
        Step::Number => "number",
        Step::NewMember => "new member",
    }
}
