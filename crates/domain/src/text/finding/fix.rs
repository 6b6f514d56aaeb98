//! The fix of a finding as data: edits of the source, where only one is possible (S0-15).

use serde::{Deserialize, Serialize};

/// Edits that are applied together, with a description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    /// What it does, in one sentence.
    pub description: String,
    /// The edits.
    pub edits: Vec<TextEdit>,
}

/// One change in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    /// Name of the source file.
    pub file: String,
    /// Where it begins, in bytes of the file's text, from 0.
    pub start: u32,
    /// The text to replace.
    pub old: String,
    /// The replacement.
    pub new: String,
}

impl Fix {
    /// A fix of one edit.
    pub(crate) fn from_edit(does: impl Into<String>, edit: TextEdit) -> Self {
        Self { description: does.into(), edits: vec![edit] }
    }

    /// The fix that writes `new` instead of `old`.
    pub(crate) fn replacement(edit: TextEdit) -> Self {
        Self::from_edit(
            format!("Write {} instead of {}.", quote_text(&edit.new), quote_text(&edit.old)),
            edit,
        )
    }
}

fn quote_text(text: &str) -> String {
    if text.starts_with('"') { text.to_owned() } else { format!("{text:?}") }
}
