//! Everything that is printed passes here: formats, tables, colours, and the cleaning of text from elsewhere.
//!
//! Colour only on a terminal and without `NO_COLOR`; control characters never.

use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::{Failure, Told};

mod clean;
mod findings;
mod paint;
mod table;

pub use clean::clean;
pub use findings::{few, summary};
pub use paint::{Colour, Paint, of_state};
pub use table::Table;

/// The noun in the number that `count` asks for.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// For people, with more columns
    Wide,
    /// For programs: the API's own words
    Json,
    /// The same as YAML
    Yaml,
}

/// The flag for the format.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Output {
    /// How to print it
    #[arg(short = 'o', long = "output", value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

impl Format {
    /// Whether programs read it.
    pub const fn is_machine(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}

/// The two streams.
pub struct Out {
    on_stdout: Paint,
    on_stderr: Paint,
    /// Columns of the terminal on stdout; `None` when it is none.
    width: Option<u16>,
}

impl Out {
    /// The streams of this process.
    pub fn new() -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = io::stdout().is_terminal();
        Self {
            on_stdout: Paint::new(terminal && !plain),
            on_stderr: Paint::new(io::stderr().is_terminal() && !plain),
            width: terminal.then(columns).flatten(),
        }
    }

    /// Whether colours are wanted on stdout.
    pub const fn paint(&self) -> Paint {
        self.on_stdout
    }

    /// Whether colours are wanted on stderr.
    pub const fn paint_notes(&self) -> Paint {
        self.on_stderr
    }

    /// Prints a line that was asked for.
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(io::stdout().lock(), "{text}")?)
    }

    /// Prints a table, or `nothing` to people when it has no row.
    pub fn table(&self, table: &Table, nothing: &str) -> Result<(), Failure> {
        if table.is_empty() {
            self.note(nothing);
            return Ok(());
        }
        Ok(io::stdout().lock().write_all(table.render(self.width, self.on_stdout).as_bytes())?)
    }

    /// Prints a value for programs.
    pub fn value(&self, value: &impl Serialize, format: Format) -> Result<(), Failure> {
        let text = match format {
            Format::Yaml => serde_saphyr::to_string(value).map_err(|error| error.to_string()),
            _ => serde_json::to_string_pretty(value).map_err(|error| error.to_string()),
        };
        let text =
            text.map_err(|why| Failure::new(format!("The answer can't be written as text: {why}."), ""))?;
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            stdout.write_all(b"\n")?;
        }
        Ok(stdout.flush()?)
    }

    /// Prints one of a stream of values: JSON on one line, or one YAML document.
    pub fn streamed(&self, value: &impl Serialize, format: Format) -> Result<(), Failure> {
        if format == Format::Yaml {
            self.line("---")?;
            return self.value(value, format);
        }
        let text = serde_json::to_string(value)
            .map_err(|why| Failure::new(format!("The answer can't be written as text: {why}."), ""))?;
        self.line(&text)?;
        Ok(io::stdout().lock().flush()?)
    }

    /// Tells people something on the way.
    pub fn note(&self, text: &str) {
        // Nobody may be listening on stderr, and that is no reason to stop.
        let _ = writeln!(io::stderr().lock(), "{}", clean(text));
    }

    /// Warns people.
    pub fn warn(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{} {}", self.on_stderr.yellow("warning:"), clean(text));
    }

    /// Tells people why it failed.
    pub fn failure(&self, told: &Told) {
        let paint = self.on_stderr;
        let mut text = findings::render(&told.findings, &str::to_owned, paint);
        text.push_str(&format!("{} {}\n", paint.red("error:"), clean(&told.message)));
        if !told.hint.is_empty() {
            text.push_str(&format!("{} {}\n", paint.bold("hint:"), clean(&told.hint)));
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Prints findings where they were asked for; `shown` gives the path of a source file as the person knows it.
    pub fn findings(
        &self,
        findings: &[domain::Finding],
        shown: &dyn Fn(&str) -> String,
    ) -> Result<(), Failure> {
        let text = findings::render(findings, shown, self.on_stdout);
        Ok(io::stdout().lock().write_all(text.as_bytes())?)
    }

    /// Tells people findings on the way.
    pub fn note_findings(&self, findings: &[domain::Finding], shown: &dyn Fn(&str) -> String) {
        let text = findings::render(findings, shown, self.on_stderr);
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
}

/// Columns of the terminal.
pub fn columns() -> Option<u16> {
    crossterm::terminal::size().ok().map(|(columns, _)| columns).filter(|columns| *columns >= 20)
}

/// Lines of the terminal.
pub fn rows() -> Option<u16> {
    crossterm::terminal::size().ok().map(|(_, rows)| rows).filter(|rows| *rows > 0)
}
