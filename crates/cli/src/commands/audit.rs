//! `flotilla audit`: the audit log of the server.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use domain::audit::{AuditEntry, AuditHead, AuditOutcome, AuditPage, AuditQuery, AuditVerification};

use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The subcommands for the audit log.
#[derive(Subcommand)]
pub enum AuditCommand {
    List(ListArgs),
    Export(ExportArgs),
    Verify(VerifyArgs),
}

/// List entries, oldest first
#[derive(Args)]
pub struct ListArgs {
    /// Only of this user
    #[arg(long, value_name = "USER")]
    actor: Option<String>,
    /// Only this action, such as publish or sign-in
    #[arg(long)]
    action: Option<String>,
    /// Only what contains this, such as "workload shop"
    #[arg(long)]
    subject: Option<String>,
    /// Only requests that ended so: succeeded, denied or failed
    #[arg(long, value_parser = parse_outcome)]
    outcome: Option<AuditOutcome>,
    /// At most this many, the newest
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    #[command(flatten)]
    output: OutputArgs,
}

fn parse_outcome(name: &str) -> Result<AuditOutcome, String> {
    AuditOutcome::parse(name).ok_or_else(|| "the outcomes are succeeded, denied and failed".to_owned())
}

/// Print every entry as a line of JSON, oldest first
#[derive(Args)]
pub struct ExportArgs {
    /// Only those after this position, such as the last one of an earlier export
    #[arg(long, default_value_t = 0, value_name = "POSITION")]
    after: i64,
    /// jsonl: entries that "flotilla audit verify" reads; ocsf: events for log collectors
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
}

/// The format of a line.
#[derive(Clone, Copy, ValueEnum)]
enum ExportFormat {
    Jsonl,
    Ocsf,
}

/// Verify that no entry was changed, removed or inserted: on the server, or of an export
#[derive(Args)]
pub struct VerifyArgs {
    /// An export in the format jsonl that begins with the first entry
    file: Option<PathBuf>,
    /// The hash that an earlier verification printed: the log has to contain it
    #[arg(long, value_name = "HASH", requires = "file")]
    head: Option<String>,
}

impl AuditCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List(args) => args.run(remote, out).await,
            Self::Export(args) => args.run(remote, out).await,
            Self::Verify(_) => print_verification(remote.client.verify_audit().await?, out),
        }
    }
}

impl ListArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let mut query = AuditQuery {
            actor: self.actor.unwrap_or_default(),
            action: self.action.unwrap_or_default(),
            subject: self.subject.unwrap_or_default(),
            outcome: self.outcome,
            before: None,
            limit: Some(self.limit),
        };
        // A page of long entries ends early.
        let mut page = AuditPage { items: Vec::new(), next: None };
        while let Some(missing) = count_missing(self.limit, page.items.len()) {
            (query.before, query.limit) = (page.next, Some(missing));
            let AuditPage { items, next } = remote.client.list_audit(&query).await?;
            page.items.extend(items);
            page.next = next;
            if page.next.is_none() {
                break;
            }
        }
        if self.output.format.is_machine() {
            out.print_value(&page, self.output.format)?;
        } else {
            out.print_table(&entries_table(&page.items), "No entry matches.")?;
        }
        Ok(ExitStatus::Success)
    }
}

/// How many entries are missing to the limit; `None` if there are enough.
fn count_missing(limit: u32, found: usize) -> Option<u32> {
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    limit.checked_sub(found).filter(|missing| *missing > 0)
}

fn entries_table(entries: &[AuditEntry]) -> Table {
    let now = clock::now();
    let mut table =
        Table::new(&["POSITION", "AGE", "ACTOR", "ACTION", "OUTCOME", "SUBJECT", "ADDRESS", "MESSAGE"]);
    for entry in entries.iter().rev() {
        let record = &entry.record;
        table
            .add_row()
            .number(entry.seq)
            .text(clock::format_age(entry.at, now))
            .text(&record.actor)
            .text(&record.action)
            .text(record.outcome.as_str())
            .text(&record.subject)
            .text(&record.address)
            .text(&record.message);
    }
    table
}

impl ExportArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let format = match self.format {
            ExportFormat::Jsonl => "jsonl",
            ExportFormat::Ocsf => "ocsf",
        };
        let mut after = self.after;
        loop {
            let text = remote.client.export_audit(after, format).await?;
            let Some(last) = text.lines().last() else { return Ok(ExitStatus::Success) };
            after = read_position(last)?;
            for line in text.lines() {
                out.print_line(line)?;
            }
        }
    }
}

/// The position of an exported entry, in either format.
fn read_position(line: &str) -> Result<i64, Failure> {
    let entry: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    let position = entry.get("seq").or_else(|| entry.pointer("/metadata/sequence"));
    position.and_then(serde_json::Value::as_i64).ok_or_else(|| {
        Failure::new("The server sent a line without a position.".to_owned(), "flotilla version".to_owned())
    })
}

impl VerifyArgs {
    /// Whether it verifies a file, which needs no server.
    pub const fn reads_file(&self) -> bool {
        self.file.is_some()
    }

    /// Verifies the file.
    pub fn verify_file(self, out: &Printer) -> Result<ExitStatus, Failure> {
        let verification = verify_export(&self.file.unwrap_or_default(), self.head.as_deref())?;
        print_verification(verification, out)
    }
}

fn print_verification(verification: AuditVerification, out: &Printer) -> Result<ExitStatus, Failure> {
    if let Some(broken) = verification.broken {
        return Err(Failure::new(
            format!("The audit log is not intact. {broken}"),
            format!("flotilla audit export --after {}", broken.seq - 1),
        ));
    }
    let AuditHead { seq, hash } = verification.head;
    out.print_line(&format!("The audit log is intact up to entry {seq}, with the hash"))?;
    out.print_line(hash.as_str())?;
    Ok(ExitStatus::Success)
}

/// Verifies an export; with a hash of an earlier verification also that an entry has it.
fn verify_export(file: &Path, expected: Option<&str>) -> Result<AuditVerification, Failure> {
    let hint = || "flotilla audit export > audit.jsonl".to_owned();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("{} can't be read: {error}.", file.display()), hint()))?;
    let mut head = AuditHead::default();
    let mut is_found = expected.is_none();
    for (number, line) in text.lines().enumerate() {
        let entry: AuditEntry = serde_json::from_str(line).map_err(|error| {
            let place = format!("line {} of {}", number + 1, file.display());
            Failure::new(format!("{place} is not an entry of the audit log: {error}."), hint())
        })?;
        if let Err(broken) = head.advance(&entry) {
            return Ok(AuditVerification { head, broken: Some(broken) });
        }
        is_found |= expected == Some(head.hash.as_str());
    }
    if !is_found {
        let message = "No entry has the hash of the earlier verification: the log was replaced since.";
        return Err(Failure::new(message.to_owned(), hint()));
    }
    Ok(AuditVerification { head, broken: None })
}
