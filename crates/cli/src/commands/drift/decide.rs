//! Decisions about drift: revert, adopt, ignore, snooze.

use clap::{Args, ValueEnum};
use domain::Timestamp;
use domain::drift::{
    AdoptTarget, DriftAdoptRequest, DriftIgnoreRequest, DriftRevertRequest, DriftSnoozeRequest,
};

use super::selection::SelectionArgs;
use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Printer, pluralize, sanitize};

/// Apply the values of a workload on a cluster again, whatever its drift policy is
///
/// Everything of the workload that drifts on the cluster is reverted; a contested field is tried again. With --path only these fields
/// are written back; what the cluster can't write alone stays, and "drift show" says why.
#[derive(Args)]
pub struct RevertDriftArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Only this field, by its path or its end; may be repeated [default: everything of the workload]
    #[arg(long = "path", alias = "field", value_name = "PATH")]
    paths: Vec<String>,
}

/// Write live values into the draft; review and publish it afterwards
#[derive(Args)]
pub struct AdoptDriftArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Where to: base, the manifests for all clusters, or override, for this cluster alone
    #[arg(long, value_enum, value_name = "TARGET")]
    into: AdoptInto,
    /// Only this field, by its path or its end; may be repeated [default: all fields of the object]
    #[arg(long = "field", value_name = "PATH")]
    fields: Vec<String>,
}

/// Where live values are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdoptInto {
    /// The manifests, for all clusters
    Base,
    /// An override for this cluster alone
    Override,
}

/// Leave fields to others, by a rule in the policies of the draft; review and publish it afterwards
#[derive(Args)]
pub struct IgnoreDriftArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Only this field, by its path or its end; may be repeated [default: all fields of the object]
    #[arg(long = "field", value_name = "PATH")]
    fields: Vec<String>,
}

/// Hide drift until a time, unless its fields change before
#[derive(Args)]
pub struct SnoozeDriftArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// For how long: minutes, hours or days, such as 90m, 12h or 7d; at most 30d
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    duration: Option<i64>,
    /// Until when, such as 2026-12-01T08:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "duration")]
    until: Option<Timestamp>,
    /// Show it again
    #[arg(long, conflicts_with_all = ["duration", "until"])]
    end: bool,
}

/// Milliseconds of `90m`, `12h` or `7d`.
fn parse_duration(text: &str) -> Result<i64, String> {
    let wrong = || "write minutes, hours or days, such as 90m, 12h or 7d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let millis = match unit {
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(millis).filter(|millis| *millis > 0).ok_or_else(wrong)
}

impl RevertDriftArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        if !self.paths.is_empty() {
            return self.revert_fields(remote, out).await;
        }
        let items = self.selection.find(remote).await?;
        let SelectionArgs { workload, cluster, .. } = &self.selection;
        // One is enough: the cluster applies the whole workload again.
        if let Some(first) = items.first() {
            remote.client.revert_drift(first.id).await?;
        }
        out.print_line(&format!("workload/{workload} revert requested on {}", sanitize(cluster)))?;
        out.print_note(&format!("Follow it with: flotilla status {workload}"));
        Ok(ExitStatus::Success)
    }

    async fn revert_fields(&self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let selected = self.selection.select_fields(remote, &self.paths).await?;
        let SelectionArgs { workload, cluster, .. } = &self.selection;
        for one in selected {
            let named = one.paths.join(", ");
            let request = DriftRevertRequest { fields: one.paths, digest: Some(one.item.digest.clone()) };
            remote.client.revert_drift_fields(one.item.id, &request).await?;
            let object = &one.item.object;
            let text = format!("workload/{workload} revert of {named} of {object} requested on {cluster}");
            out.print_line(&sanitize(&text))?;
        }
        out.print_note(&format!(
            "Follow it with: flotilla drift show {workload} --cluster {}",
            sanitize(cluster)
        ));
        Ok(ExitStatus::Success)
    }
}

impl AdoptDriftArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let selected = self.selection.select_fields(remote, &self.fields).await?;
        let into = match self.into {
            AdoptInto::Base => AdoptTarget::Base,
            AdoptInto::Override => AdoptTarget::Override,
        };
        let place = match self.into {
            AdoptInto::Base => "its manifests".to_owned(),
            AdoptInto::Override => format!("the override of {}", self.selection.cluster),
        };
        let workload = &self.selection.workload;
        let mut revision = None;
        for one in selected {
            let digest = Some(one.item.digest.clone());
            let request = DriftAdoptRequest { into, fields: one.paths, digest };
            let read = revision.unwrap_or(one.item.workload_version);
            let changed = remote.client.adopt_drift(one.item.id, &request, read).await?;
            revision = Some(changed.revision);
            let text = format!("workload/{workload} adopted {} into {place} (draft)", one.item.object);
            out.print_line(&sanitize(&text))?;
        }
        print_next_step(workload, out);
        Ok(ExitStatus::Success)
    }
}

impl IgnoreDriftArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let selected = self.selection.select_fields(remote, &self.fields).await?;
        let workload = &self.selection.workload;
        let mut revision = None;
        for one in selected {
            let digest = Some(one.item.digest.clone());
            let request = DriftIgnoreRequest { fields: one.paths, digest };
            let read = revision.unwrap_or(one.item.workload_version);
            let changed = remote.client.ignore_drift(one.item.id, &request, read).await?;
            revision = Some(changed.revision);
            let text = format!("workload/{workload} ignores fields of {} (draft)", one.item.object);
            out.print_line(&sanitize(&text))?;
        }
        print_next_step(workload, out);
        Ok(ExitStatus::Success)
    }
}

impl SnoozeDriftArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let until = match (self.duration, self.until, self.end) {
            (Some(millis), ..) => Some(clock::now().plus_millis(millis)),
            (None, Some(until), _) => Some(until),
            (None, None, true) => None,
            (None, None, false) => {
                return Err(Failure::usage(
                    "Until when is not given.",
                    "Add --for 7d, --until TIME, or --end to show it again.",
                ));
            }
        };
        let items = self.selection.find(remote).await?;
        let count = items.len();
        for item in items {
            let request = DriftSnoozeRequest { until, digest: Some(item.digest) };
            remote.client.snooze_drift(item.id, &request).await?;
        }
        let SelectionArgs { workload, cluster, .. } = &self.selection;
        let objects = format!("{count} {}", pluralize(count, "object"));
        let text = match until {
            Some(until) => {
                format!("workload/{workload} drift of {objects} on {cluster} snoozed until {until}")
            }
            None => format!("workload/{workload} drift of {objects} on {cluster} shown again"),
        };
        out.print_line(&sanitize(&text))?;
        Ok(ExitStatus::Success)
    }
}

fn print_next_step(workload: &str, out: &Printer) {
    out.print_note(&format!("Review it with: flotilla plan {workload}"));
    out.print_note(&format!("It takes effect when it is published: flotilla publish {workload}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_of_minutes_hours_or_days() {
        assert_eq!(parse_duration("90m"), Ok(5_400_000));
        assert_eq!(parse_duration("12h"), Ok(43_200_000));
        assert_eq!(parse_duration("7d"), Ok(604_800_000));
        for wrong in ["", "d", "7", "7w", "-1d", "0h", "1.5h", "9999999999999999d", "7д"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
