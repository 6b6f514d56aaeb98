//! `flotilla plan` and `flotilla diff`: what a publish of the draft would do on every cluster (E-2).

use anstyle::AnsiColor;
use clap::Args;
use domain::Finding;
use domain::guard::catalogue;
use domain::nearest::find_nearest;
use domain::plan::{
    ChangeCounts, ClusterPlan, ClusterPlanGroup, Distinction, DryRunState, FieldChange, FieldValue, Plan,
    PlannedAction, PlannedChange, TargetChange,
};
use domain::rollout::WavePreview;
use serde_json::Value;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{ColourMode, OutputArgs, Printer, count_findings, join_names, pluralize, sanitize};

/// How long the server waits for the dry runs of the clusters, in seconds.
const DRY_RUN_WAIT_SECONDS: u64 = 20;

/// Show what a publish of the draft, or of an earlier revision, would do on every cluster, and what would reject it
///
/// The clusters perform a dry run. Pass the hash at the end to "flotilla publish --plan": that publish is rejected with exit
/// code 6 if the plan is stale. Exits with 3 if a guard rail or a cluster rejects the plan; a publish without --plan is then
/// rejected too, unless its codes are forced by name (flotilla publish --force G406).
#[derive(Args)]
pub struct PlanArgs {
    /// Name of the workload
    pub workload: String,
    /// Only this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// Plan a rollback to this revision instead of a publish of the draft
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    revision: Option<u32>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Show only the fields that a publish of the draft would change, cluster by cluster
///
/// The exit code is that of "kubectl diff": 0 without differences, 1 with differences, 2 or more if they could not be
/// determined, and 3 if a guard rail would reject the publish.
#[derive(Args)]
pub struct DiffArgs {
    /// Name of the workload
    pub workload: String,
    /// Only this cluster
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl PlanArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let plan = fetch_plan(remote, &self.workload, self.revision, self.cluster.as_deref()).await?;
        if self.output.format.is_machine() {
            out.print_value(&plan, self.output.format)?;
            return Ok(plan_exit(&plan));
        }
        out.print_findings_note(&plan.findings, &str::to_owned);
        out.print_line(&format_header(&plan))?;
        print_changed_groups(&plan, out)?;
        let command = publish_command(&plan);
        if plan.is_blocked() {
            out.print_warning(&format!("It can't be published: {}.", count_findings(&plan.findings)));
            if let Some(force) = force_flags(&plan.findings) {
                out.print_note(&format!(
                    "Correct the draft or the clusters and plan again. To publish it nevertheless: {command}{force}"
                ));
            }
        } else {
            let confirm = plan.blast_radius.confirmation();
            let confirm = confirm.map(|number| format!(" --confirm {number}")).unwrap_or_default();
            out.print_line(&format!("\n{command}{confirm}"))?;
        }
        Ok(plan_exit(&plan))
    }
}

impl DiffArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let plan = fetch_plan(remote, &self.workload, None, self.cluster.as_deref()).await?;
        if self.output.format.is_machine() {
            out.print_value(&plan.cluster_plans, self.output.format)?;
        } else {
            print_changed_groups(&plan, out)?;
        }
        Ok(match plan_exit(&plan) {
            ExitStatus::Success if plan.has_changes() => ExitStatus::Differs,
            other => other,
        })
    }
}

/// The flags that force these findings; `None` if one of them can't be forced, or none has to be.
pub fn force_flags(findings: &[Finding]) -> Option<String> {
    let codes = catalogue::codes_to_force(findings).filter(|codes| !codes.is_empty())?;
    Some(codes.iter().map(|code| format!(" --force {code}")).collect())
}

/// What is expected of a publish that forces these codes, to complete a sentence.
pub fn describe_force<'c>(codes: impl Iterator<Item = &'c str>) -> &'static str {
    let (decided, rejected): (Vec<&str>, Vec<&str>) =
        codes.partition(|code| catalogue::is_forcible_on_hub(code));
    match (decided.is_empty(), rejected.is_empty()) {
        (false, true) => "what these findings hold back is done",
        (true, _) => "the clusters are expected to reject these objects",
        (false, false) => {
            "what some of these findings hold back is done, and the clusters are expected to reject the other objects"
        }
    }
}

/// The command that publishes this plan.
fn publish_command(plan: &Plan) -> String {
    let (name, hash) = (&plan.workload, &plan.hash);
    match plan.restored_revision {
        Some(number) => format!("flotilla rollback {name} {number} --plan {hash}"),
        None => format!("flotilla publish {name} --plan {hash}"),
    }
}

fn plan_exit(plan: &Plan) -> ExitStatus {
    if plan.is_blocked() { ExitStatus::Rejected } else { ExitStatus::Success }
}

async fn fetch_plan(
    remote: &ServerConnection,
    workload: &str,
    revision: Option<u32>,
    cluster: Option<&str>,
) -> Result<Plan, Failure> {
    let mut plan = remote.client.plan_publish(workload, revision, DRY_RUN_WAIT_SECONDS).await?;
    let Some(cluster) = cluster else { return Ok(plan) };
    let names: Vec<String> = plan.targets.iter().map(|target| target.name.clone()).collect();
    plan.targets.retain(|target| target.name == cluster);
    if plan.targets.is_empty() {
        let near = find_nearest(cluster, names.iter().map(String::as_str))
            .map(|near| format!("Did you mean {near:?}?"));
        let hint = near.unwrap_or_else(|| {
            format!("\"flotilla explain placement {workload} --cluster {cluster}\" explains why.")
        });
        return Err(Failure::new(
            format!("A publish of {workload} does nothing on a cluster {cluster:?}."),
            hint,
        ));
    }
    plan.cluster_plans
        .retain(|digest, _| plan.targets.iter().any(|target| target.cluster_plan.as_ref() == Some(digest)));
    plan.no_op = !plan.has_changes();
    Ok(plan)
}

fn format_header(plan: &Plan) -> String {
    let (answered, not_requested, pending) = plan.dry_run_counts();
    let mut text = format!(
        "{} as revision {}: {answered} {} validated",
        plan.workload,
        plan.revision,
        pluralize(answered, "cluster")
    );
    if not_requested + pending > 0 {
        text.push_str(&format!(", {} not validated", not_requested + pending));
    }
    text.push('.');
    let wave = |preview: &WavePreview| {
        let soak = preview.wave.soak.as_ref().map(|soak| format!(", soak {soak}")).unwrap_or_default();
        let approval = if preview.wave.approval { ", requires approval" } else { "" };
        let after = if preview.wave.approval_after { ", its result requires approval" } else { "" };
        let clusters = pluralize(preview.clusters as usize, "cluster");
        format!("{} ({} {clusters}{soak}{approval}{after})", preview.wave.name, preview.clusters)
    };
    let waves: Vec<String> = plan.waves.iter().map(wave).collect();
    if !waves.is_empty() {
        text.push_str(&format!("\nIn waves: {}.", sanitize(&waves.join(" → "))));
        text.push_str(&format!("\n{}", plan.on_failure.description()));
    }
    text
}

/// Prints the groups of clusters with their changes, or the sentence that there are none.
fn print_changed_groups(plan: &Plan, out: &Printer) -> Result<(), Failure> {
    if let Some(nothing) = plan.no_op_message() {
        return out.print_line(&nothing);
    }
    for group in plan.groups() {
        out.print_line(&format!("\n{}", format_group(&group, out.stdout_colours())))?;
        let cluster_plan = group.cluster_plan.as_ref().and_then(|digest| plan.cluster_plans.get(digest));
        if let Some(cluster_plan) = cluster_plan {
            print_changes(cluster_plan, &group.distinctions, out)?;
        }
    }
    Ok(())
}

/// Prints every object that changes, with its fields; of a new object those that distinguish it from other groups.
pub(super) fn print_changes(
    cluster_plan: &ClusterPlan,
    distinctions: &[Distinction],
    out: &Printer,
) -> Result<(), Failure> {
    let paint = out.stdout_colours();
    for one in cluster_plan.objects.iter().filter(|one| one.action != PlannedAction::Unchanged) {
        let mut text = format_change(one, paint);
        let distinction =
            distinctions.iter().find(|distinction| distinction.object.is_same_object(&one.object));
        if let Some(distinction) = distinction {
            text.push_str(&format_distinction(distinction, paint));
        }
        out.print_line(&text)?;
    }
    if cluster_plan.omitted > 0 {
        out.print_line(&format!("  and {} more objects", cluster_plan.omitted))?;
    }
    Ok(())
}

fn format_group(group: &ClusterPlanGroup, paint: ColourMode) -> String {
    let count = group.clusters.len();
    let verb = match group.change {
        TargetChange::Deploy => "",
        TargetChange::Remove => " to remove it from",
    };
    let state = match &group.dry_run {
        DryRunState::Answered if group.counts.rejected > 0 => paint.apply(AnsiColor::Red, "rejected"),
        DryRunState::Answered => "accepted".to_owned(),
        DryRunState::Requested => "dry run pending".to_owned(),
        DryRunState::NotRequested { message: why } | DryRunState::NotRendered { message: why } => {
            paint.apply(AnsiColor::Yellow, &format!("not validated: {}", sanitize(why)))
        }
    };
    let names = sanitize(&join_names(&group.clusters));
    let title = paint.bold(&format!("{count} {}{verb}", pluralize(count, "cluster")));
    let changes = match group.cluster_plan {
        None if group.change == TargetChange::Deploy => "changes not known".to_owned(),
        _ => format_counts(group.counts),
    };
    format!("{title} ({names}): {changes}; {state}")
}

pub(super) fn format_counts(counts: ChangeCounts) -> String {
    let ChangeCounts { create, change, replace, delete, orphan, .. } = counts;
    let orphaned = if orphan > 0 { format!(" {orphan} orphaned") } else { String::new() };
    let replaced = if replace > 0 { format!(" {replace} replaced") } else { String::new() };
    format!("+{create} ~{change} -{delete}{replaced}{orphaned}")
}

fn format_change(one: &PlannedChange, paint: ColourMode) -> String {
    let object = sanitize(&one.object.to_string());
    let unverified = if one.unverified.is_empty() {
        String::new()
    } else {
        format!("  (not validated: {})", sanitize(&one.unverified))
    };
    match &one.action {
        PlannedAction::Unchanged => format!("  = {object}"),
        PlannedAction::Create => {
            format!("  {}{unverified}", paint.apply(AnsiColor::Green, &format!("+ {object}")))
        }
        PlannedAction::Delete => {
            let when = if one.after_operational { "  (once the revision is operational)" } else { "" };
            format!("  {}{when}{unverified}", paint.apply(AnsiColor::Red, &format!("- {object}")))
        }
        PlannedAction::Orphan => format!("  . {object} stays as an orphan{unverified}"),
        PlannedAction::Rejected { finding } => {
            let message = sanitize(&finding.message);
            format!("  {}", paint.apply(AnsiColor::Red, &format!("! {object} {}: {message}", finding.code)))
        }
        PlannedAction::Change { fields, omitted: left_out }
        | PlannedAction::Replace { fields, omitted: left_out } => {
            let title = match &one.action {
                PlannedAction::Replace { .. } => format!("-/+ {object} is replaced (runs again)"),
                _ => format!("~ {object}"),
            };
            let mut text = format!("  {}{unverified}", paint.apply(AnsiColor::Yellow, &title));
            for field in fields {
                text.push_str(&format_field(field, paint));
            }
            if *left_out > 0 {
                text.push_str(&format!("\n      and {left_out} more fields"));
            }
            text
        }
    }
}

/// The fields in which the object differs from the same new object on other clusters.
fn format_distinction(distinction: &Distinction, paint: ColourMode) -> String {
    let mut text = "  (differs between clusters)".to_owned();
    for FieldValue { path, value } in &distinction.fields {
        let field = FieldChange { path: path.clone(), desired: value.clone(), live: None };
        text.push_str(&format_field(&field, paint));
        if value.is_none() {
            text.push_str("\n        not set");
        }
    }
    text
}

fn format_field(field: &FieldChange, paint: ColourMode) -> String {
    let mut text = format!("\n      {}", sanitize(&field.path));
    let mut side = |sign: &str, colour, value: &Option<Value>| {
        if let Some(value) = value {
            let line = format!("{sign} {}", sanitize(&format_value(value)));
            text.push_str(&format!("\n        {}", paint.apply(colour, &line)));
        }
    };
    side("-", AnsiColor::Red, &field.live);
    side("+", AnsiColor::Green, &field.desired);
    text
}

/// A string without quotes, any other value as JSON.
fn format_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
