//! Tables: plain columns without lines, so that `awk` and eyes read them alike.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, ContentArrangement};
use domain::Severity;
use domain::cluster::Reach;
use domain::release::State;

use super::clean;
use super::paint::{self, Colour, Paint};

/// A table being filled.
pub struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<(String, Option<Colour>)>>,
}

/// A row being filled; every text is cleaned.
pub struct Row<'t>(&'t mut Vec<(String, Option<Colour>)>);

impl Table {
    /// A table with these column heads.
    pub fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// A new row.
    pub fn row(&mut self) -> Row<'_> {
        let at = self.rows.len();
        self.rows.push(Vec::with_capacity(self.head.len()));
        Row(&mut self.rows[at])
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text. In a terminal long texts are wrapped inside their column; elsewhere a row is one line.
    pub fn render(&self, width: Option<u16>, paint: Paint) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).force_no_tty();
        if paint.is_on() {
            table.enforce_styling();
        }
        match width {
            Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table.set_header(&self.head);
        for row in &self.rows {
            table.add_row(row.iter().map(|(text, colour)| cell(text, *colour)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
    }
}

impl Row<'_> {
    /// A cell; an empty one reads `-`, so that columns can be counted.
    pub fn text(self, text: impl AsRef<str>) -> Self {
        self.coloured(text.as_ref(), None)
    }

    /// A number.
    pub fn number(self, number: impl std::fmt::Display) -> Self {
        self.coloured(&number.to_string(), None)
    }

    /// A state.
    pub fn state(self, state: State) -> Self {
        self.coloured(state.word(), Some(paint::of_state(state)))
    }

    /// A reach.
    pub fn reach(self, reach: Reach) -> Self {
        self.coloured(reach.word(), Some(paint::of_reach(reach)))
    }

    /// A severity.
    pub fn severity(self, severity: Severity) -> Self {
        self.coloured(severity.word(), Some(paint::of_severity(severity)))
    }

    fn coloured(self, text: &str, colour: Option<Colour>) -> Self {
        let text = clean(text);
        self.0.push((if text.is_empty() { "-".to_owned() } else { text }, colour));
        self
    }
}

fn cell(text: &str, colour: Option<Colour>) -> Cell {
    let cell = Cell::new(text);
    match colour {
        Some(colour) => cell.fg(match colour {
            Colour::Red => Color::DarkRed,
            Colour::Green => Color::DarkGreen,
            Colour::Yellow => Color::DarkYellow,
            Colour::Blue => Color::DarkBlue,
            Colour::Grey => Color::DarkGrey,
        }),
        None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new(&["CLUSTER", "STATE", "MESSAGE"]);
        table.row().text("eu-1").state(State::Failed).text("evil \u{1b}[2J text");
        table.row().text("us-1").state(State::Healthy).text("");
        table
    }

    #[test]
    fn without_a_terminal_a_row_is_one_line_without_any_escape() {
        let text = example().render(None, Paint::new(false));
        assert_eq!(text, "CLUSTER  STATE    MESSAGE\neu-1     Failed   evil [2J text\nus-1     Healthy  -\n");
    }

    #[test]
    fn colour_stands_around_the_word_only() {
        let text = example().render(Some(80), Paint::new(true));
        assert!(text.contains("\u{1b}["), "{text:?}");
        assert!(!text.contains("\u{1b}[2J"), "{text:?}");
    }
}
