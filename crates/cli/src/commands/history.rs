//! `flotilla history`: the published revisions: when, by whom and why.

use clap::Args;
use domain::page::{ListQuery, MAX_LIMIT};
use domain::plan::RevisionView;
use domain::workload::Revision;

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
    #[command(flatten)]
    output: OutputArgs,
}

impl HistoryArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        if let Some(number) = self.revision {
            let view = remote.client.get_revision(&self.workload, number).await?;
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
    let age = revision.created_at.format_age(clock::now());
    let author = sanitize(&revision.author);
    out.print_line(&format!("{workload} r{}, published {age} ago by {author}", revision.number))?;
    if !revision.message.is_empty() {
        out.print_line(&sanitize(&revision.message))?;
    }
    out.print_line(&match view.previous {
        Some(before) => format!("Compared with r{before}: {}", format_counts(view.changes.counts())),
        None => format!("First revision: {}", format_counts(view.changes.counts())),
    })?;
    print_changes(&view.changes, &[], out)?;
    if !view.changed_parts.is_empty() {
        out.print_line(&format!("Also changed: {}", view.changed_parts.join(", ")))?;
    }
    Ok(())
}

fn revisions_table(revisions: &[Revision], format: Format) -> Table {
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["REVISION", "AGE", "AUTHOR", "MESSAGE"];
    if wide {
        head.extend(["SOURCE", "PUBLISHED"]);
    }
    let mut table = Table::new(&head);
    for revision in revisions {
        let row = table.add_row().number(revision.number).text(revision.created_at.format_age(now));
        let row = row.text(&revision.author).text(&revision.message);
        if wide {
            row.text(revision.spec.source.summary()).text(revision.created_at.to_string());
        }
    }
    table
}
