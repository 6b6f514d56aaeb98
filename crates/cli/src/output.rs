//! All output: formats, tables, colours, and the sanitizing of foreign text.
//!
//! Colours are used only on a terminal without `NO_COLOR`; control characters are never printed.

use std::io::{self, IsTerminal, Write};

use clap::Args;
use domain::rollup::ReleaseCounts;
use serde::Serialize;

use crate::failure::{Failure, FailureReport};

mod colour;
mod findings;
mod jsonpath;
mod name;
mod sanitize;
mod table;

pub use colour::{ColourMode, state_colour};
pub use findings::{count_findings, join_names};
use jsonpath::JsonPathTemplate;
pub use sanitize::sanitize;
pub use table::Table;

/// The noun in singular or plural, by `count`.
pub fn pluralize(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// Counts per state, worst first.
pub fn format_states(counts: &ReleaseCounts) -> String {
    let parts: Vec<String> =
        counts.iter_by_severity().map(|(state, count)| format!("{count} {}", state.as_str())).collect();
    parts.join(", ")
}

/// Output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For people, with more columns.
    Wide,
    /// For programs: as in the API.
    Json,
    /// The same as YAML.
    Yaml,
    /// The names alone, one a line, as commands take them.
    Name,
    /// Selected fields. There is one template in the life of the process.
    JsonPath(&'static JsonPathTemplate),
}

/// Reads a format.
fn parse_format(text: &str) -> Result<Format, String> {
    Ok(match text {
        "table" => Format::Table,
        "wide" => Format::Wide,
        "json" => Format::Json,
        "yaml" => Format::Yaml,
        "name" => Format::Name,
        other => match other.strip_prefix("jsonpath=") {
            Some(template) => Format::JsonPath(Box::leak(Box::new(JsonPathTemplate::parse(template)?))),
            None => return Err("write table, wide, json, yaml, name or jsonpath=TEMPLATE".to_owned()),
        },
    })
}

/// The flag of the output format.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputArgs {
    /// Output format: table, wide, json, yaml, name, or jsonpath=TEMPLATE
    #[arg(short = 'o', long = "output", value_parser = parse_format, default_value = "table", value_name = "FORMAT")]
    pub format: Format,
}

impl Format {
    /// Whether the format is for programs.
    pub const fn is_machine(self) -> bool {
        !matches!(self, Self::Table | Self::Wide)
    }
}

/// The output streams of the process.
pub struct Printer {
    on_stdout: ColourMode,
    on_stderr: ColourMode,
    /// Columns of the terminal on stdout; `None` without a terminal.
    width: Option<u16>,
}

impl Printer {
    /// The streams of this process.
    pub fn new() -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = io::stdout().is_terminal();
        Self {
            on_stdout: ColourMode::new(terminal && !plain),
            on_stderr: ColourMode::new(io::stderr().is_terminal() && !plain),
            width: terminal.then(terminal_columns).flatten(),
        }
    }

    /// Whether stdout is coloured.
    pub const fn stdout_colours(&self) -> ColourMode {
        self.on_stdout
    }

    /// Whether stderr is coloured.
    pub const fn stderr_colours(&self) -> ColourMode {
        self.on_stderr
    }

    /// Prints a line on stdout.
    pub fn print_line(&self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(io::stdout().lock(), "{text}")?)
    }

    /// Prints a table on stdout, or `nothing` on stderr if the table has no row.
    pub fn print_table(&self, table: &Table, nothing: &str) -> Result<(), Failure> {
        if table.is_empty() {
            self.print_note(nothing);
            return Ok(());
        }
        Ok(io::stdout().lock().write_all(table.render(self.width, self.on_stdout).as_bytes())?)
    }

    /// Prints a value on stdout in a format for programs.
    pub fn print_value(&self, value: &impl Serialize, format: Format) -> Result<(), Failure> {
        let invalid = |why: String| Failure::new(format!("The response can't be serialized: {why}."), "");
        let to_json = || serde_json::to_value(value).map_err(|error| invalid(error.to_string()));
        let text = match format {
            Format::Yaml => serde_saphyr::to_string(value).map_err(|error| invalid(error.to_string()))?,
            Format::JsonPath(template) => template.render(&to_json()?),
            Format::Name => name::list_names(&to_json()?)?,
            _ => serde_json::to_string_pretty(value).map_err(|error| invalid(error.to_string()))?,
        };
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            stdout.write_all(b"\n")?;
        }
        Ok(stdout.flush()?)
    }

    /// Prints one of a stream of values: JSON on one line, or one YAML document.
    pub fn print_streamed(&self, value: &impl Serialize, format: Format) -> Result<(), Failure> {
        match format {
            Format::Yaml => {
                self.print_line("---")?;
                return self.print_value(value, format);
            }
            Format::Name | Format::JsonPath(_) => return self.print_value(value, format),
            _ => {}
        }
        let text = serde_json::to_string(value)
            .map_err(|why| Failure::new(format!("The response can't be serialized: {why}."), ""))?;
        self.print_line(&text)?;
        Ok(io::stdout().lock().flush()?)
    }

    /// Prints a note on stderr.
    pub fn print_note(&self, text: &str) {
        // A closed stderr is no failure.
        let _ = writeln!(io::stderr().lock(), "{}", sanitize(text));
    }

    /// Prints a warning on stderr.
    pub fn print_warning(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{} {}", self.on_stderr.yellow("warning:"), sanitize(text));
    }

    /// Prints findings, message and hint of a failure on stderr.
    pub fn print_failure(&self, report: &FailureReport) {
        let paint = self.on_stderr;
        let mut text = findings::render_findings(&report.findings, &str::to_owned, paint);
        text.push_str(&format!("{} {}\n", paint.red("error:"), sanitize(&report.message)));
        if !report.hint.is_empty() {
            text.push_str(&format!("{} {}\n", paint.bold("hint:"), sanitize(&report.hint)));
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Prints findings on stdout; `shown` returns the path of a source file as the user gave it.
    pub fn print_findings(
        &self,
        findings: &[domain::Finding],
        shown: &dyn Fn(&str) -> String,
    ) -> Result<(), Failure> {
        let text = findings::render_findings(findings, shown, self.on_stdout);
        Ok(io::stdout().lock().write_all(text.as_bytes())?)
    }

    /// Prints findings on stderr.
    pub fn print_findings_note(&self, findings: &[domain::Finding], shown: &dyn Fn(&str) -> String) {
        let text = findings::render_findings(findings, shown, self.on_stderr);
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Columns of the terminal.
pub fn terminal_columns() -> Option<u16> {
    crossterm::terminal::size().ok().map(|(columns, _)| columns).filter(|columns| *columns >= 20)
}

/// Lines of the terminal.
pub fn terminal_rows() -> Option<u16> {
    crossterm::terminal::size().ok().map(|(_, rows)| rows).filter(|rows| *rows > 0)
}
