//! Tables: plain columns without lines, readable for people and for `awk`.

use anstyle::{Ansi256Color, AnsiColor};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement};
use domain::Severity;
use domain::cluster::{Cluster, Connectivity};
use domain::release::ReleaseState;
use unicode_width::UnicodeWidthStr;

use super::colour::{self, ColourMode};
use super::sanitize;

/// Columns between two columns.
const COLUMN_GAP: usize = 2;
/// Fewest columns in which a text is wrapped beside the others.
const MIN_TEXT_WIDTH: usize = 40;
/// The text of an empty cell.
const EMPTY_CELL: &str = "-";

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

    /// The table as text. Without a terminal (`width`) a row is one line. On one, only the last column is wrapped, and stands below
    /// its row where little space is left for it: names and states stay readable.
    pub fn render(&self, width: Option<u16>, paint: ColourMode) -> String {
        let Some(width) = width.map(usize::from) else {
            return self.render_columns(self.header.len(), None, paint);
        };
        let last = self.header.len().saturating_sub(1);
        let others: usize = (0..last).map(|column| self.column_width(column) + COLUMN_GAP).sum();
        let rest = width.saturating_sub(others);
        if self.column_width(last) <= rest {
            return self.render_columns(last + 1, None, paint);
        }
        if rest >= MIN_TEXT_WIDTH {
            return self.render_columns(last + 1, Some(width), paint);
        }
        let text = self.render_columns(last, None, paint);
        let mut folded = String::new();
        for (number, line) in text.lines().enumerate() {
            folded.push_str(&format!("{line}\n"));
            let row = number.checked_sub(1).and_then(|row| self.rows.get(row)?.get(last));
            if let Some((message, _)) = row.filter(|(message, _)| message != EMPTY_CELL) {
                for part in wrap_words(message, width.saturating_sub(COLUMN_GAP)) {
                    folded.push_str(&format!("{:COLUMN_GAP$}{part}\n", ""));
                }
            }
        }
        folded
    }

    /// The first columns; the last of them is wrapped so that the table has this width.
    fn render_columns(&self, columns: usize, width: Option<usize>, paint: ColourMode) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).force_no_tty();
        if paint.is_enabled() {
            table.enforce_styling();
        }
        table.set_header(&self.header[..columns]);
        for row in &self.rows {
            table.add_row(row.iter().take(columns).map(|(text, colour)| table_cell(text, *colour)));
        }
        match width.and_then(|width| u16::try_from(width).ok()) {
            Some(width) => {
                table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
                for column in table.column_iter_mut().take(columns.saturating_sub(1)) {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
            None => {
                table.set_content_arrangement(ContentArrangement::Disabled);
            }
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
    }

    /// The width of the widest cell of a column.
    fn column_width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|(text, _)| text.width());
        cells.chain(self.header.get(column).map(|text| text.width())).max().unwrap_or_default()
    }
}

/// Lines of at most this width; a longer word is a line of its own, so that it can be copied.
fn wrap_words(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.width() + 1 + word.width() <= width) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
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
        self.0.push((if text.is_empty() { EMPTY_CELL.to_owned() } else { text }, colour));
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
    fn a_long_text_never_breaks_the_other_columns_of_a_terminal() {
        let mut table = Table::new(&["CLUSTER", "CONNECTIVITY", "MESSAGE"]);
        let message = "cannot pull image registry.invalid/does-not-exist:1.0: not found on this registry";
        table.add_row().text("eu-west-1").text("Online").text(message);
        table.add_row().text("us-1").text("Online").text("");
        assert_eq!(
            table.render(Some(50), ColourMode::new(false)),
            "CLUSTER    CONNECTIVITY\neu-west-1  Online\n  cannot pull image\n  \
             registry.invalid/does-not-exist:1.0: not found\n  on this registry\nus-1       Online\n"
        );
        let wide = table.render(Some(70), ColourMode::new(false));
        assert!(
            wide.starts_with("CLUSTER    CONNECTIVITY  MESSAGE\neu-west-1  Online        cannot"),
            "{wide}"
        );
        assert!(wide.lines().all(|line| line.width() <= 70), "{wide}");
        let one_line = table.render(Some(200), ColourMode::new(false));
        assert!(one_line.lines().nth(1).unwrap().ends_with("this registry"), "{one_line}");
    }

    #[test]
    fn only_the_coloured_text_has_escapes() {
        let text = example_table().render(Some(80), ColourMode::new(true));
        assert!(text.contains("\u{1b}["), "{text:?}");
        assert!(!text.contains("\u{1b}[2J"), "{text:?}");
    }
}
