//! `flotilla history`: the published revisions: when, by whom and why.

use clap::Args;
use domain::page::{ListQuery, MAX_LIMIT};
use domain::plan::{ChangedPart, RevisionView};
use domain::workload::Revision;
use wire::RevisionQuery;

use crate::clock;
use crate::commands::plan::{format_counts, print_changes};
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, sanitize};

/// List the published revisions of a workload, newest first
#[derive(Args)]
pub struct HistoryArgs {
    /// Name of the workload
    pub workload: String,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
    limit: u32,
    /// Show the changes of one revision
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..))]
    revision: Option<u32>,
    /// Compare it with this revision instead of the previous one
    #[arg(long, value_name = "REVISION", requires = "revision", value_parser = clap::value_parser!(u32).range(1..))]
    against: Option<u32>,
    /// Compare what the two revisions are on this cluster, with its overrides and values
    #[arg(long, requires = "revision")]
    cluster: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl HistoryArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        if let Some(number) = self.revision {
            let query = RevisionQuery { against: self.against, cluster: self.cluster };
            let view = remote.client.get_revision(&self.workload, number, &query).await?;
            if self.output.format.is_machine() {
                out.print_value(&view, self.output.format)?;
            } else {
                print_revision(&self.workload, &view, out)?;
            }
            return Ok(ExitStatus::Success);
        }
        let query = ListQuery { limit: Some(self.limit), ..ListQuery::default() };
        let page = remote.client.list_revisions(&self.workload, &query).await?;
        if self.output.format.is_machine() {
            out.print_value(&page, self.output.format)?;
            return Ok(ExitStatus::Success);
        }
        let nothing = format!("{0} was never published: flotilla publish {0}", self.workload);
        out.print_table(&revisions_table(&page.items, self.output.format), &nothing)?;
        if page.next.is_some() {
            out.print_note(&format!("{} of {} revisions; --limit shows more.", page.items.len(), page.total));
        }
        Ok(ExitStatus::Success)
    }
}

/// Prints one revision: author, age, message and changed objects.
fn print_revision(workload: &str, view: &RevisionView, out: &Printer) -> Result<(), Failure> {
    let revision = &view.revision;
    let age = clock::format_age(revision.created_at, clock::now());
    let author = sanitize(&revision.author);
    out.print_line(&format!("{workload} r{}, published {age} ago by {author}", revision.number))?;
    if !revision.message.is_empty() {
        out.print_line(&sanitize(&revision.message))?;
    }
    if let Some(renderer) = revision.renderer() {
        out.print_line(&format!("rendered by {}", sanitize(&renderer)))?;
    }
    let on_cluster = if view.cluster.is_empty() { String::new() } else { format!(" on {}", view.cluster) };
    let subject = match view.against {
        Some(other) => format!("Compared with r{other}{on_cluster}"),
        None => format!("First revision{on_cluster}"),
    };
    match &view.changes {
        Some(changes) => {
            out.print_line(&format!("{subject}: {}", format_counts(changes.counts())))?;
            print_changes(changes, &[], out)?;
        }
        None => {
            out.print_line(&format!("{subject}: the objects can't be compared."))?;
            out.print_findings(&view.findings, &str::to_owned)?;
        }
    }
    for ChangedPart { part, diff } in &view.changed_parts {
        out.print_line("")?;
        out.print_line(&format!("{part}:"))?;
        diff.lines().try_for_each(|line| out.print_line(&format!("  {}", sanitize(line))))?;
    }
    Ok(())
}

fn revisions_table(revisions: &[Revision], format: Format) -> Table {
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["REVISION", "AGE", "AUTHOR", "MESSAGE"];
    if wide {
        head.extend(["SOURCE", "RENDERER", "PUBLISHED"]);
    }
    let mut table = Table::new(&head);
    for revision in revisions {
        let row = table.add_row().number(revision.number).text(clock::format_age(revision.created_at, now));
        let row = row.text(&revision.author).text(&revision.message);
        if wide {
            let renderer = revision.renderer().unwrap_or_default();
            row.text(revision.spec.source.summary()).text(renderer).text(revision.created_at.to_string());
        }
    }
    table
}
