//! `flotilla history`: what was published, when, by whom and why.

use clap::Args;
use domain::page::{ListQuery, MAX_LIMIT};
use domain::plan::RevisionView;
use domain::workload::Revision;

use crate::clock;
use crate::commands::plan::{counts, of_objects};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Format, Out, Output, Table, clean};
use crate::remote::Remote;

/// List the published revisions of a workload, newest first
#[derive(Args)]
pub struct History {
    /// Name of the workload
    pub workload: String,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LIMIT)))]
    limit: u32,
    /// Show one revision: what it changed
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..))]
    revision: Option<u32>,
    #[command(flatten)]
    output: Output,
}

impl History {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        if let Some(number) = self.revision {
            let view = remote.client.workload_revision(&self.workload, number).await?;
            if self.output.format.is_machine() {
                out.value(&view, self.output.format)?;
            } else {
                one(&self.workload, &view, out)?;
            }
            return Ok(Exit::Done);
        }
        let query = ListQuery { limit: Some(self.limit), ..ListQuery::default() };
        let page = remote.client.workload_revisions(&self.workload, &query).await?;
        if self.output.format.is_machine() {
            out.value(&page, self.output.format)?;
            return Ok(Exit::Done);
        }
        let nothing = format!("{0} was never published: flotilla publish {0}", self.workload);
        out.table(&table(&page.items, self.output.format), &nothing)?;
        if page.next.is_some() {
            out.note(&format!("{} of {} revisions; --limit shows more.", page.items.len(), page.total));
        }
        Ok(Exit::Done)
    }
}

/// One revision: who, when and why, then object by object.
fn one(workload: &str, view: &RevisionView, out: &Out) -> Result<(), Failure> {
    let revision = &view.revision;
    let age = revision.created_at.age(clock::now());
    let author = clean(&revision.author);
    out.line(&format!("{workload} r{}, published {age} ago by {author}", revision.number))?;
    if !revision.message.is_empty() {
        out.line(&clean(&revision.message))?;
    }
    out.line(&match view.before {
        Some(before) => format!("Against r{before}: {}", counts(view.effect.tally())),
        None => format!("The first one: {}", counts(view.effect.tally())),
    })?;
    of_objects(&view.effect, out)?;
    if !view.also.is_empty() {
        out.line(&format!("Changed as well: {}", view.also.join(", ")))?;
    }
    Ok(())
}

fn table(revisions: &[Revision], format: Format) -> Table {
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["REVISION", "AGE", "AUTHOR", "MESSAGE"];
    if wide {
        head.extend(["FILES", "PUBLISHED"]);
    }
    let mut table = Table::new(&head);
    for revision in revisions {
        let row = table.row().number(revision.number).text(revision.created_at.age(now));
        let row = row.text(&revision.author).text(&revision.message);
        if wide {
            row.number(revision.spec.source.files().len()).text(revision.created_at.to_string());
        }
    }
    table
}
