//! The text of a description: fields in one column, and sections that are indented below their title.

use crate::output::{ColourMode, Table, sanitize};

/// Width of the names of fields.
const FIELD_WIDTH: usize = 20;

/// A description under construction; every text is sanitized.
#[derive(Default)]
pub struct Description(String);

impl Description {
    /// Adds a field; `none` if it is known to be empty.
    pub fn field(&mut self, name: &str, value: impl AsRef<str>) {
        let value = sanitize(value.as_ref());
        let value = if value.is_empty() { "none" } else { &value };
        self.0.push_str(&format!("{:<FIELD_WIDTH$}{value}\n", format!("{name}:")));
    }

    /// Adds a field with one value a line; `none` if the list is known to be empty.
    pub fn list(&mut self, name: &str, values: &[String]) {
        let Some((first, others)) = values.split_first() else { return self.field(name, "") };
        self.field(name, first);
        for other in others {
            self.0.push_str(&format!("{:FIELD_WIDTH$}{}\n", "", sanitize(other)));
        }
    }

    /// Adds a section with a table; `nothing` if it has no row.
    pub fn table(&mut self, title: &str, table: &Table, nothing: &str) {
        self.title(title);
        if table.is_empty() {
            return self.line(nothing);
        }
        for line in table.render(None, ColourMode::new(false)).lines() {
            self.0.push_str(&format!("  {line}\n"));
        }
    }

    /// Begins a section.
    pub fn title(&mut self, title: &str) {
        self.0.push_str(&format!("{}:\n", sanitize(title)));
    }

    /// Adds a line to the section.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.0.push_str(&format!("  {}\n", sanitize(text.as_ref())));
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_one_column_and_an_empty_list_is_none() {
        let mut text = Description::default();
        text.field("Name", "web\u{1b}[2J");
        text.field("Message", "");
        text.list("Labels", &["a=1".into(), "b=2".into()]);
        text.list("Taints", &[]);
        text.table("Events", &Table::new(&["AGE"]), "No events.");
        assert_eq!(
            text.into_text(),
            "Name:               web[2J\nMessage:            none\nLabels:             a=1\n                    b=2\nTaints:             none\nEvents:\n  No events.\n"
        );
    }
}
