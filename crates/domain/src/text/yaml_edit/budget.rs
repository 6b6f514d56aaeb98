//! How much edits that follow each other may parse: each one parses its text again, so that many of them in a long text take hours.

/// Most bytes that are parsed again by edits that follow each other.
const MAX_BYTES: usize = 4 << 20;
/// Most edits that follow each other.
const MAX_EDITS: usize = 256;

/// What is left for edits of one text or of several, such as the files of a source.
#[derive(Debug, Clone, Copy)]
pub struct EditBudget {
    bytes: usize,
    edits: usize,
}

impl Default for EditBudget {
    fn default() -> Self {
        Self { bytes: MAX_BYTES, edits: MAX_EDITS }
    }
}

impl EditBudget {
    /// Counts so many edits of a text of this many bytes, before they are made; returns whether they may be. A single edit always may: it
    /// takes no longer than to read the text.
    #[must_use]
    pub fn charge(&mut self, bytes: usize, edits: usize) -> bool {
        if edits <= 1 {
            return true;
        }
        let parsed = bytes.saturating_mul(edits);
        let is_left = parsed <= self.bytes && edits <= self.edits;
        if is_left {
            self.bytes -= parsed;
            self.edits -= edits;
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_edits_of_several_texts_are_counted_together() {
        let mut budget = EditBudget::default();
        assert!(budget.charge(MAX_BYTES / 4, 2) && budget.charge(MAX_BYTES / 8, 4));
        assert!(!budget.charge(1, 2), "nothing is left");
        assert!(budget.charge(10 << 20, 1), "a single edit is as long as the text");
        assert!(!EditBudget::default().charge(1, MAX_EDITS + 1));
        assert!(!EditBudget::default().charge(usize::MAX, 2));
    }
}
