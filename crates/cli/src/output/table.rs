//! Tables: plain columns without lines, readable for people and for `awk`.

use anstyle::{Ansi256Color, AnsiColor};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, ContentArrangement};
use domain::Severity;
use domain::cluster::{Cluster, Connectivity};
use domain::release::ReleaseState;

use super::colour::{self, ColourMode};
use super::sanitize;

/// A table under construction.
pub struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<(String, Option<AnsiColor>)>>,
}

/// A row under construction; every text is sanitized.
pub struct RowBuilder<'t>(&'t mut Vec<(String, Option<AnsiColor>)>);

impl Table {
    /// An empty table with these column headers.
    pub fn new(head: &[&'static str]) -> Self {
        Self { header: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn add_row(&mut self) -> RowBuilder<'_> {
        let at = self.rows.len();
        self.rows.push(Vec::with_capacity(self.header.len()));
        RowBuilder(&mut self.rows[at])
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text. On a terminal (`width`) long texts are wrapped inside their column; otherwise a row is one line.
    pub fn render(&self, width: Option<u16>, paint: ColourMode) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).force_no_tty();
        if paint.is_enabled() {
            table.enforce_styling();
        }
        match width {
            Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table.set_header(&self.header);
        for row in &self.rows {
            table.add_row(row.iter().map(|(text, colour)| table_cell(text, *colour)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
    }
}

impl RowBuilder<'_> {
    /// Adds a text; an empty one becomes `-`, so that the number of columns is constant.
    pub fn text(self, text: impl AsRef<str>) -> Self {
        self.push_cell(text.as_ref(), None)
    }

    /// Adds a number.
    pub fn number(self, number: impl std::fmt::Display) -> Self {
        self.push_cell(&number.to_string(), None)
    }

    /// Adds a state.
    pub fn state(self, state: ReleaseState) -> Self {
        self.push_cell(state.as_str(), Some(colour::state_colour(state)))
    }

    /// Adds the connectivity of a cluster, and whether its API server is down.
    pub fn cluster_connectivity(self, cluster: &Cluster) -> Self {
        if cluster.api_server_outage.is_none() {
            return self.connectivity(cluster.connectivity);
        }
        self.push_cell(&format!("{}, API server down", cluster.connectivity.as_str()), Some(AnsiColor::Red))
    }

    /// Adds a connectivity.
    pub fn connectivity(self, reach: Connectivity) -> Self {
        self.push_cell(reach.as_str(), Some(colour::connectivity_colour(reach)))
    }

    /// Adds a severity.
    pub fn severity(self, severity: Severity) -> Self {
        self.push_cell(severity.as_str(), Some(colour::severity_colour(severity)))
    }

    fn push_cell(self, text: &str, colour: Option<AnsiColor>) -> Self {
        let text = sanitize(text);
        self.0.push((if text.is_empty() { "-".to_owned() } else { text }, colour));
        self
    }
}

fn table_cell(text: &str, colour: Option<AnsiColor>) -> Cell {
    let cell = Cell::new(text);
    match colour {
        Some(colour) => cell.fg(Color::AnsiValue(Ansi256Color::from_ansi(colour).index())),
        None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_table() -> Table {
        let mut table = Table::new(&["CLUSTER", "STATE", "MESSAGE"]);
        table.add_row().text("eu-1").state(ReleaseState::Failed).text("evil \u{1b}[2J text");
        table.add_row().text("us-1").state(ReleaseState::Healthy).text("");
        table
    }

    #[test]
    fn without_a_terminal_a_row_is_one_line_without_any_escape() {
        let text = example_table().render(None, ColourMode::new(false));
        assert_eq!(text, "CLUSTER  STATE    MESSAGE\neu-1     Failed   evil [2J text\nus-1     Healthy  -\n");
    }

    #[test]
    fn only_the_coloured_text_has_escapes() {
        let text = example_table().render(Some(80), ColourMode::new(true));
        assert!(text.contains("\u{1b}["), "{text:?}");
        assert!(!text.contains("\u{1b}[2J"), "{text:?}");
    }
}
