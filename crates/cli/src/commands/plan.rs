//! `flotilla plan` and `flotilla diff`: what publishing the draft would do on every cluster (E-2).

use clap::Args;
use domain::plan::{
    Effect, EffectGroup, FieldChange, ObjectEffect, Outcome, Plan as Planned, Tally, TargetChange,
    TargetState,
};
use domain::rollout::WaveOutlook;
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::output::{Colour, Out, Output, Paint, clean, few, plural, summary};
use crate::remote::Remote;

/// How long the server waits for its clusters' answers, in seconds.
const WAIT: u64 = 20;

/// Say what publishing the draft would do on every cluster, and what would refuse it
///
/// The clusters are asked for a dry run. The hash at the end goes to "flotilla publish --plan": that publish is refused
/// with exit code 6 if what was planned is not what would be published. Ends with 3 if a guard rail or a cluster refuses.
#[derive(Args)]
pub struct Plan {
    /// Name of the workload
    pub workload: String,
    /// Only this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Show only the fields that publishing the draft would change, cluster by cluster
#[derive(Args)]
pub struct Diff {
    /// Name of the workload
    pub workload: String,
    /// Only this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Plan {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let plan = planned(remote, &self.workload, self.cluster.as_deref()).await?;
        if self.output.format.is_machine() {
            out.value(&plan, self.output.format)?;
            return Ok(ended(&plan));
        }
        out.note_findings(&plan.findings, &str::to_owned);
        out.line(&head(&plan))?;
        tell(&plan, out)?;
        if plan.blocks() {
            out.warn(&format!("It can't be published: {}.", summary(&plan.findings)));
        } else {
            let confirm = plan.blast_radius.confirmation();
            let confirm = confirm.map(|number| format!(" --confirm {number}")).unwrap_or_default();
            out.line(&format!("\nflotilla publish {} --plan {}{confirm}", plan.workload, plan.hash))?;
        }
        Ok(ended(&plan))
    }
}

impl Diff {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let plan = planned(remote, &self.workload, self.cluster.as_deref()).await?;
        if self.output.format.is_machine() {
            out.value(&plan.effects, self.output.format)?;
        } else if plan.changes_anything() {
            tell(&plan, out)?;
        } else {
            out.line("Nothing would change.")?;
        }
        Ok(ended(&plan))
    }
}

fn ended(plan: &Planned) -> Exit {
    if plan.blocks() { Exit::Refused } else { Exit::Done }
}

async fn planned(remote: &Remote, workload: &str, cluster: Option<&str>) -> Result<Planned, Failure> {
    let mut plan = remote.client.workload_plan(workload, WAIT).await?;
    let Some(cluster) = cluster else { return Ok(plan) };
    let names: Vec<String> = plan.targets.iter().map(|target| target.name.clone()).collect();
    plan.targets.retain(|target| target.name == cluster);
    if plan.targets.is_empty() {
        let near =
            nearest(cluster, names.iter().map(String::as_str)).map(|near| format!("Did you mean {near:?}?"));
        let hint = near.unwrap_or_else(|| {
            format!("\"flotilla explain placement {workload} --cluster {cluster}\" says why not.")
        });
        return Err(Failure::new(
            format!("Publishing {workload} does nothing on a cluster {cluster:?}."),
            hint,
        ));
    }
    plan.effects.retain(|digest, _| plan.targets.iter().any(|target| target.effect.as_ref() == Some(digest)));
    Ok(plan)
}

fn head(plan: &Planned) -> String {
    let (answered, not_asked, open) = plan.heard();
    let mut text = format!(
        "{} as revision {}: {answered} {} asked",
        plan.workload,
        plan.revision,
        plural(answered, "cluster")
    );
    if not_asked + open > 0 {
        text.push_str(&format!(", {} not tested", not_asked + open));
    }
    text.push('.');
    let wave = |outlook: &WaveOutlook| {
        let soak = outlook.wave.soak.as_ref().map(|soak| format!(", soaks {soak}")).unwrap_or_default();
        let asks = if outlook.wave.approval { ", asks for approval" } else { "" };
        let clusters = plural(outlook.clusters as usize, "cluster");
        format!("{} ({} {clusters}{soak}{asks})", outlook.wave.name, outlook.clusters)
    };
    let waves: Vec<String> = plan.waves.iter().map(wave).collect();
    if !waves.is_empty() {
        text.push_str(&format!("\nIn waves: {}.", clean(&waves.join(" → "))));
    }
    text
}

fn tell(plan: &Planned, out: &Out) -> Result<(), Failure> {
    for group in plan.groups() {
        out.line(&format!("\n{}", of_group(&group, out.paint())))?;
        let effect = group.effect.as_ref().and_then(|digest| plan.effects.get(digest));
        if let Some(effect) = effect {
            of_objects(effect, out)?;
        }
    }
    Ok(())
}

/// Every object that changes, with its fields.
pub(super) fn of_objects(effect: &Effect, out: &Out) -> Result<(), Failure> {
    for one in effect.objects.iter().filter(|one| one.outcome != Outcome::Unchanged) {
        out.line(&of_object(one, out.paint()))?;
    }
    if effect.left_out > 0 {
        out.line(&format!("  and {} more objects", effect.left_out))?;
    }
    Ok(())
}

fn of_group(group: &EffectGroup, paint: Paint) -> String {
    let count = group.clusters.len();
    let verb = match group.change {
        TargetChange::Get => "",
        TargetChange::Lose => " would lose it",
    };
    let state = match &group.state {
        TargetState::Answered if group.tally.refused > 0 => paint.colour(Colour::Red, "refused"),
        TargetState::Answered => "accepted".to_owned(),
        TargetState::Asked => "no answer yet".to_owned(),
        TargetState::NotAsked { why } | TargetState::NotRendered { why } => {
            paint.colour(Colour::Yellow, &format!("not tested: {}", clean(why)))
        }
    };
    let names = clean(&few(&group.clusters));
    let title = paint.bold(&format!("{count} {}{verb}", plural(count, "cluster")));
    format!("{title} ({names}): {}; {state}", counts(group.tally))
}

pub(super) fn counts(tally: Tally) -> String {
    let Tally { create, change, delete, let_go, .. } = tally;
    let kept = if let_go > 0 { format!(" {let_go} left running") } else { String::new() };
    format!("+{create} ~{change} -{delete}{kept}")
}

fn of_object(one: &ObjectEffect, paint: Paint) -> String {
    let object = clean(&one.object.to_string());
    let untried = if one.untried.is_empty() {
        String::new()
    } else {
        format!("  (not tried: {})", clean(&one.untried))
    };
    match &one.outcome {
        Outcome::Unchanged => format!("  = {object}"),
        Outcome::Create => format!("  {}{untried}", paint.colour(Colour::Green, &format!("+ {object}"))),
        Outcome::Delete => format!("  {}{untried}", paint.colour(Colour::Red, &format!("- {object}"))),
        Outcome::LetGo => format!("  . {object} stays, and is no longer ours{untried}"),
        Outcome::Refused { finding } => {
            let message = clean(&finding.message);
            format!("  {}", paint.colour(Colour::Red, &format!("! {object} {}: {message}", finding.code)))
        }
        Outcome::Change { fields, left_out } => {
            let mut text = format!("  {}{untried}", paint.colour(Colour::Yellow, &format!("~ {object}")));
            for field in fields {
                text.push_str(&of_field(field, paint));
            }
            if *left_out > 0 {
                text.push_str(&format!("\n      and {left_out} more fields"));
            }
            text
        }
    }
}

fn of_field(field: &FieldChange, paint: Paint) -> String {
    let mut text = format!("\n      {}", clean(&field.path));
    let mut side = |sign: &str, colour, value: &Option<Value>| {
        if let Some(value) = value {
            let line = format!("{sign} {}", clean(&shown(value)));
            text.push_str(&format!("\n        {}", paint.colour(colour, &line)));
        }
    };
    side("-", Colour::Red, &field.live);
    side("+", Colour::Green, &field.wanted);
    text
}

/// A text without its quotes, anything else as JSON.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
