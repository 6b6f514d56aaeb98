//! Pages of lists: keyset cursors, never offsets, because fleets are long and move.

use serde::{Deserialize, Serialize};

/// Items asked for when nothing is said.
pub const DEFAULT_LIMIT: u32 = 50;
/// Items given at most.
pub const MAX_LIMIT: u32 = 500;

/// What to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListQuery {
    /// At most this many, 1 to [`MAX_LIMIT`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where the previous page ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only names that contain this.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub q: String,
    /// Only what has a release in one of these states (words, comma-separated).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Only what has these labels.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label_selector: String,
}

impl ListQuery {
    /// The limit, within its bounds.
    pub fn limit(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
    }

    /// The states asked for; unknown words are left out.
    pub fn states(&self) -> Vec<crate::release::State> {
        self.state.split(',').filter_map(|word| crate::release::State::from_word(word.trim())).collect()
    }
}

/// One page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page begins; `None` on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How many there are in all with this filter.
    pub total: u32,
}

impl<T> Page<T> {
    /// The same page with other items.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next, total: self.total }
    }
}
