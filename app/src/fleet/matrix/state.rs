//! What stays of the matrix when a live update renders it again: its place and the order of its rows while the pointer or the keyboard
//! focus is in it, and the cell that its caption describes.

use domain::fleet::FleetRow;
use domain::{ReleaseId, WorkloadId};
use leptos::prelude::*;

/// Lives as long as the page.
#[derive(Debug, Clone, Copy)]
pub struct MatrixState {
    /// The rows in the order in which they were rendered last.
    order: StoredValue<Vec<WorkloadId>>,
    has_pointer: StoredValue<bool>,
    has_focus: StoredValue<bool>,
    /// The height in pixels of the list above the matrix, while the pointer or the focus is in the matrix: a list that grows or shrinks
    /// would move the rows. It scrolls then.
    pub(in crate::fleet) attention_height: RwSignal<Option<i32>>,
    /// The release of the cell that the caption describes; the worst one without it.
    pub(super) cell: RwSignal<Option<ReleaseId>>,
}

impl MatrixState {
    /// Neither the pointer nor the focus is in the matrix.
    pub fn new() -> Self {
        Self {
            order: StoredValue::new(Vec::new()),
            has_pointer: StoredValue::new(false),
            has_focus: StoredValue::new(false),
            attention_height: RwSignal::new(None),
            cell: RwSignal::new(None),
        }
    }

    /// Records whether the pointer is in the matrix.
    pub fn set_pointer(self, inside: bool) {
        let _ = self.has_pointer.try_update_value(|value| *value = inside);
    }

    /// Records whether the keyboard focus is on a link in the matrix.
    pub fn set_focus(self, inside: bool) {
        let _ = self.has_focus.try_update_value(|value| *value = inside);
    }

    /// Whether the pointer or the focus is in the matrix.
    fn is_occupied(self) -> bool {
        self.has_pointer.try_get_value().unwrap_or(false) || self.has_focus.try_get_value().unwrap_or(false)
    }

    /// Fixes the height of the list above the matrix, before an update renders it again, while the pointer or the focus is in the matrix, or
    /// with `is_fixed`. `measure` returns its present height.
    pub fn fix_attention_height(self, is_fixed: bool, measure: impl FnOnce() -> Option<i32>) {
        let fixed = self.attention_height.get_untracked();
        let height = if is_fixed || self.is_occupied() { fixed.or_else(measure) } else { None };
        if height != fixed {
            self.attention_height.set(height);
        }
    }

    /// Shows the whole list above the matrix again, once the pointer and the focus have left the matrix, and not with `is_fixed`.
    pub fn release_attention_height(self, is_fixed: bool) {
        if !is_fixed && !self.is_occupied() && self.attention_height.try_get_untracked().flatten().is_some() {
            self.attention_height.set(None);
        }
    }

    /// The rows as they are to be rendered. While the pointer or the focus is in the matrix, or with `is_fixed`, no row changes its
    /// place, and new ones come last.
    pub fn arrange(self, mut rows: Vec<FleetRow>, is_fixed: bool) -> Vec<FleetRow> {
        if rows.is_empty() {
            // Without rows there is no matrix that the pointer or the focus could leave.
            self.set_pointer(false);
            self.set_focus(false);
        }
        if is_fixed || self.is_occupied() {
            self.order.with_value(|order| {
                // Stable: rows that were not rendered yet have the order of the server.
                rows.sort_by_key(|row| order.iter().position(|id| *id == row.id).unwrap_or(usize::MAX));
            });
        }
        self.order.set_value(rows.iter().map(|row| row.id).collect());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(numbers: &[u64]) -> Vec<FleetRow> {
        let row = |n: &u64| FleetRow {
            id: WorkloadId::from_parts(*n, 1),
            name: format!("w{n}"),
            counts: [].into_iter().collect(),
            cells: Vec::new(),
        };
        numbers.iter().map(row).collect()
    }

    /// The names after the rows were arranged.
    fn arrange(state: MatrixState, numbers: &[u64]) -> String {
        let names: Vec<String> =
            state.arrange(rows(numbers), false).into_iter().map(|row| row.name).collect();
        names.join(" ")
    }

    #[test]
    fn rows_keep_their_order_while_the_pointer_or_the_focus_is_in_the_matrix_and_new_ones_come_last() {
        Owner::new().with(|| {
            let state = MatrixState::new();
            assert_eq!(arrange(state, &[3, 1]), "w3 w1");
            state.set_pointer(true);
            assert_eq!(arrange(state, &[1, 2, 3]), "w3 w1 w2");
            state.set_focus(true);
            state.set_pointer(false);
            assert_eq!(arrange(state, &[2, 1, 3]), "w3 w1 w2", "the focus is still there");
            state.set_focus(false);
            assert_eq!(arrange(state, &[2, 1, 3]), "w2 w1 w3");
            state.set_pointer(true);
            assert_eq!(arrange(state, &[]), "");
            assert_eq!(arrange(state, &[1, 2]), "w1 w2");
            assert_eq!(arrange(state, &[2, 1]), "w2 w1", "the matrix was gone");
        });
    }

    #[test]
    fn the_list_above_the_matrix_has_a_fixed_height_while_the_pointer_or_the_focus_is_in_the_matrix() {
        Owner::new().with(|| {
            let state = MatrixState::new();
            let update = |height: i32| {
                state.fix_attention_height(false, || Some(height));
                state.attention_height.get_untracked()
            };
            assert_eq!(update(40), None);
            state.set_pointer(true);
            assert_eq!(update(40), Some(40));
            assert_eq!(update(80), Some(40), "that of the first update");
            state.set_focus(true);
            state.set_pointer(false);
            state.release_attention_height(false);
            assert_eq!(update(80), Some(40), "the focus is still there");
            state.set_focus(false);
            state.release_attention_height(false);
            assert_eq!(state.attention_height.get_untracked(), None);
            state.set_pointer(true);
            assert_eq!(update(80), Some(80));
            state.set_pointer(false);
            assert_eq!(update(120), None);
        });
    }

    #[test]
    fn the_list_above_the_matrix_has_a_fixed_height_behind_an_open_palette() {
        Owner::new().with(|| {
            let state = MatrixState::new();
            let update = |is_open: bool, height: i32| {
                state.fix_attention_height(is_open, || Some(height));
                state.attention_height.get_untracked()
            };
            state.set_focus(true);
            assert_eq!(update(false, 40), Some(40));
            // The field of the palette takes the focus.
            state.set_focus(false);
            state.release_attention_height(true);
            assert_eq!(update(true, 80), Some(40));
            state.release_attention_height(false);
            assert_eq!(state.attention_height.get_untracked(), None, "it was closed");
            assert_eq!(update(true, 80), Some(80), "it was opened from elsewhere");
            assert_eq!(update(false, 120), None);
        });
    }

    #[test]
    fn rows_keep_their_order_behind_an_open_palette() {
        Owner::new().with(|| {
            let state = MatrixState::new();
            assert_eq!(arrange(state, &[1, 2]), "w1 w2");
            let arranged: Vec<FleetRow> = state.arrange(rows(&[2, 1]), true);
            assert_eq!(arranged[0].name, "w1");
        });
    }
}
