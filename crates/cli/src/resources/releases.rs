//! One release with its stages and objects.

use domain::Timestamp;
use domain::release::stage::StageReason;
use domain::release::{Stage, StageState, describe_missed_deadline};
use domain::report::ResourceStatus;
use domain::time::format_duration;

use crate::clock;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Format, Printer, Table, sanitize};

/// Prints a release: its state, all its stages, and its objects in the order of the bundle.
pub async fn print_release(
    remote: &ServerConnection,
    workload: &str,
    cluster: &str,
    format: Format,
    out: &Printer,
) -> Result<(), Failure> {
    let release = remote.client.get_release(workload, cluster).await?;
    if format.is_machine() {
        return out.print_value(&release, format);
    }
    let head = format!("{workload} on {cluster}: {}", release.state.as_str());
    let message = if release.message.is_empty() { String::new() } else { format!(". {}", release.message) };
    out.print_line(&sanitize(&(head + &message)))?;
    if !release.release.facts_notice().is_empty() {
        out.print_warning(release.release.facts_notice());
    }
    if let Some(late) = describe_missed_deadline(release.release.deadline_at(), clock::now()) {
        out.print_warning(&format!("{workload} on {cluster} is {late}."));
    }
    let mut stages = Table::new(&["STAGE", "STATE", "SINCE", "MESSAGE"]);
    for stage in release.release.stages().iter() {
        add_stage(&mut stages, stage);
    }
    out.print_line("")?;
    out.print_table(&stages, "")?;
    let mut objects = Table::new(&["OBJECT", "NAMESPACE", "APPLIED", "HEALTH", "DRIFT", "MESSAGE"]);
    for resource in &release.resources {
        let object = format!("{}/{}", resource.object.kind, resource.object.name);
        let row = objects.add_row().text(object).text(&resource.object.namespace);
        let row = row.text(if resource.applied { "yes" } else { "no" });
        let row = row.text(resource.health.status.as_str()).text(resource.drifted.join(", "));
        row.text(describe_problem(resource));
    }
    out.print_line("")?;
    out.print_table(&objects, "No object of it is reported yet.")
}

/// The message of a release, after the mark of a deadline that it missed.
pub fn mark_missed_deadline(message: &str, deadline_at: Option<Timestamp>, now: Timestamp) -> String {
    match describe_missed_deadline(deadline_at, now) {
        None => message.to_owned(),
        Some(late) if message.is_empty() => format!("[{late}]"),
        Some(late) => format!("[{late}] {message}"),
    }
}

fn add_stage(table: &mut Table, stage: &Stage) {
    let now = clock::now();
    let since = stage.finished_at.or(stage.started_at).map(|since| clock::format_age(since, now));
    let row = table.add_row().text(stage.name.label()).text(stage.state.as_str());
    row.text(since.unwrap_or_default()).text(describe_stage(stage, now));
}

/// Why a stage waits or fails with its attempt and next retry, what it does, why it was skipped, or what has to hold.
pub fn describe_stage(stage: &Stage, now: Timestamp) -> String {
    match &stage.state {
        StageState::Running { message } if !message.is_empty() => message.clone(),
        StageState::Waiting(reason) | StageState::Failed(reason) => describe_reason(reason, now),
        _ => stage.explanation(),
    }
}

/// `cannot pull image …; attempt 14, next try in 2 min`.
fn describe_reason(reason: &StageReason, now: Timestamp) -> String {
    let attempt = match reason.attempts {
        0 => String::new(),
        attempts => format!("; attempt {attempts}"),
    };
    let next = match reason.next_retry {
        Some(next) if next > now => format!(", next try in {}", format_duration(next.millis_since(now))),
        Some(_) => ", trying now".to_owned(),
        None => String::new(),
    };
    format!("{}{attempt}{next}", reason.text().trim_end_matches('.'))
}

/// Why an object is not as it should be; empty if it is.
fn describe_problem(resource: &ResourceStatus) -> String {
    match (&resource.problem, resource.causes.first()) {
        (Some(problem), _) => problem.message.clone(),
        (None, Some(cause)) => cause.clone(),
        (None, None) => resource.health.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_3_the_message_of_a_late_release_begins_with_the_mark() {
        let at = Timestamp::from_millis(1_000_000);
        let mark = |message, deadline_at| mark_missed_deadline(message, deadline_at, at);
        assert_eq!(mark("pulls nginx:9.9", None), "pulls nginx:9.9");
        assert_eq!(mark("pulls nginx:9.9", Some(at.plus_millis(1))), "pulls nginx:9.9");
        let late = Some(at.plus_millis(-300_000));
        assert_eq!(mark("pulls nginx:9.9", late), "[past its deadline for 5 min] pulls nginx:9.9");
        assert_eq!(mark("", late), "[past its deadline for 5 min]");
    }
}
