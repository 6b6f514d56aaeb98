//! Fixes: edits of the source that put a finding right, where only one can be meant (S0-15).
//!
//! A fix names what it expects to find, so one that was made for another text changes nothing; and it changes nothing
//! but what it names: comments, order and spacing stay.

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::workload::SourceFile;

/// Edits that belong together, and what they do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    /// What it does, in one sentence.
    pub does: String,
    /// The edits.
    pub edits: Vec<Edit>,
}

/// One change in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    /// Name of the source file.
    pub file: String,
    /// Where it begins, in bytes of the file's text, from 0.
    pub start: u32,
    /// What stands there.
    pub old: String,
    /// What should stand there.
    pub new: String,
}

/// Most fixes that are applied at once.
const MAX_FIXES: usize = 1_000;

/// The text is no longer the one that a fix was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text has changed since")]
pub struct Stale;

impl Fix {
    /// A fix of one edit.
    pub(crate) fn one(does: impl Into<String>, edit: Edit) -> Self {
        Self { does: does.into(), edits: vec![edit] }
    }

    /// The fix that writes `new` instead of `old`.
    pub(crate) fn replace(edit: Edit) -> Self {
        Self::one(format!("Write {} instead of {}.", shown(&edit.new), shown(&edit.old)), edit)
    }
}

fn shown(text: &str) -> String {
    if text.starts_with('"') { text.to_owned() } else { format!("{text:?}") }
}

impl Edit {
    fn end(&self) -> usize {
        self.begin().saturating_add(self.old.len())
    }

    fn begin(&self) -> usize {
        usize::try_from(self.start).unwrap_or(usize::MAX)
    }

    fn fits(&self, file: &SourceFile) -> bool {
        file.name == self.file && file.text.get(self.begin()..self.end()) == Some(self.old.as_str())
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.file == other.file && self.begin() < other.end() && other.begin() < self.end()
    }
}

/// The files with a fix applied; all of it or nothing.
///
/// # Errors
/// [`Stale`] when something else stands where the fix would change something.
pub fn apply(files: &[SourceFile], fix: &Fix) -> Result<Vec<SourceFile>, Stale> {
    let mut files = files.to_vec();
    let mut edits: Vec<&Edit> = fix.edits.iter().collect();
    // From the end on, so that places before an edit stay where they are.
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.start));
    for edit in edits {
        let file = files.iter_mut().find(|file| edit.fits(file)).ok_or(Stale)?;
        file.text.replace_range(edit.begin()..edit.end(), &edit.new);
    }
    Ok(files)
}

/// The files with the fixes applied that the findings carry, and the findings that these were of. Of two that meet in one
/// place only the first is done; checking the result brings the other back.
pub fn apply_all<'a>(files: &[SourceFile], findings: &'a [Finding]) -> (Vec<SourceFile>, Vec<&'a Finding>) {
    let mut done: Vec<&Finding> = Vec::new();
    let mut edits: Vec<Edit> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.fix.is_some()).take(MAX_FIXES) {
        let own = finding.fix.iter().flat_map(|fix| &fix.edits);
        let free = |edit: &Edit| !edits.iter().any(|taken| edit.overlaps(taken));
        if own.clone().all(|edit| free(edit) && files.iter().any(|file| edit.fits(file))) {
            edits.extend(own.cloned());
            done.push(finding);
        }
    }
    match apply(files, &Fix { does: String::new(), edits }) {
        Ok(files) => (files, done),
        Err(Stale) => (files.to_vec(), Vec::new()),
    }
}

#[cfg(test)]
mod tests;
