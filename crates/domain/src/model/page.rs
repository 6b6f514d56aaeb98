//! Pages of lists: keyset cursors, never offsets, because lists are long and change between requests.

use serde::{Deserialize, Serialize};

/// Default number of items of a page.
pub const DEFAULT_LIMIT: u32 = 50;
/// Most items of a page.
pub const MAX_LIMIT: u32 = 500;

/// The page and the filters of a list request.
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
    /// Only what has a release in one of these states (names, comma-separated).
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

    /// The requested states; unknown names are ignored.
    pub fn states(&self) -> Vec<crate::model::release::ReleaseState> {
        self.state
            .split(',')
            .filter_map(|name| crate::model::release::ReleaseState::parse(name.trim()))
            .collect()
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
    /// Number of all items with this filter.
    pub total: u32,
}

impl<T> Page<T> {
    /// The same page with other items.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next: self.next, total: self.total }
    }
}
