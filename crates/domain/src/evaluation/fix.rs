//! Applies fixes: edits of the source that resolve a finding (S0-15).
//!
//! An edit contains the text that it replaces, so a fix for another text changes nothing. Comments, order and spacing
//! around it stay.

use crate::text::finding::Finding;
pub use crate::text::finding::{Fix, TextEdit};
use crate::text::source_file::SourceFile;

/// Most fixes that [`apply_all`] applies.
const MAX_FIXES: usize = 1_000;

/// The text is not the one that a fix was created for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text has changed since the fix was created")]
pub struct StaleFix;

impl TextEdit {
    fn end_offset(&self) -> usize {
        self.start_offset().saturating_add(self.old.len())
    }

    fn start_offset(&self) -> usize {
        usize::try_from(self.start).unwrap_or(usize::MAX)
    }

    fn matches(&self, file: &SourceFile) -> bool {
        file.name == self.file
            && file.text.get(self.start_offset()..self.end_offset()) == Some(self.old.as_str())
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.file == other.file
            && self.start_offset() < other.end_offset()
            && other.start_offset() < self.end_offset()
    }
}

/// The files with a fix applied, all of its edits or none.
///
/// # Errors
/// [`StaleFix`] if an edit does not find the text that it replaces.
pub fn apply(files: &[SourceFile], fix: &Fix) -> Result<Vec<SourceFile>, StaleFix> {
    let mut files = files.to_vec();
    let mut edits: Vec<&TextEdit> = fix.edits.iter().collect();
    // From the end, so that the offsets of earlier edits stay valid.
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.start));
    for edit in edits {
        let file = files.iter_mut().find(|file| edit.matches(file)).ok_or(StaleFix)?;
        file.text.replace_range(edit.start_offset()..edit.end_offset(), &edit.new);
    }
    Ok(files)
}

/// The files with the fixes of the findings applied, and the findings whose fixes were applied. Of two overlapping
/// fixes only the first is applied; the next check of the result reports the other finding again.
pub fn apply_all<'a>(files: &[SourceFile], findings: &'a [Finding]) -> (Vec<SourceFile>, Vec<&'a Finding>) {
    let mut applied: Vec<&Finding> = Vec::new();
    let mut edits: Vec<TextEdit> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.fix.is_some()).take(MAX_FIXES) {
        let own = finding.fix.iter().flat_map(|fix| &fix.edits);
        let free = |edit: &TextEdit| !edits.iter().any(|other| edit.overlaps(other));
        if own.clone().all(|edit| free(edit) && files.iter().any(|file| edit.matches(file))) {
            edits.extend(own.cloned());
            applied.push(finding);
        }
    }
    match apply(files, &Fix { description: String::new(), edits }) {
        Ok(files) => (files, applied),
        Err(StaleFix) => (files.to_vec(), Vec::new()),
    }
}

#[cfg(test)]
mod tests;
