//! The search: a page that needs no script, and the palette, the same search in a dialog that any page opens. Its code is a part
//! that is fetched when it is first opened; this module has what every page needs to open it.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::{FilterForm, icon};
use crate::paths;

#[cfg(feature = "ssr")]
mod entries;
mod entry_view;
mod page;
mod palette;
#[cfg(feature = "ssr")]
mod places;
mod query;

pub use page::SearchPage;
pub use palette::Palette;

/// An entry of the results: something to open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchEntry {
    /// The name of its icon.
    pub icon: String,
    /// The class of the icon's hue; empty for an icon in the colour of the text.
    pub hue: String,
    /// The label.
    pub label: String,
    /// Whether the label is a name.
    pub is_name: bool,
    /// The cluster of a failing release; else empty.
    pub cluster: String,
    /// What distinguishes it or what it does, or why it is not possible.
    pub detail: String,
    /// What it opens; empty if it is not possible.
    pub href: String,
    /// The command that does the same; may be empty.
    pub command: String,
    /// The keys that open it; may be empty.
    pub keys: String,
}

/// Entries under a title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSection {
    /// The title.
    pub title: String,
    /// The entries.
    pub entries: Vec<SearchEntry>,
}

/// The results of a search, in the order in which they are displayed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSections {
    /// The sections; none is empty.
    pub sections: Vec<SearchSection>,
    /// The words that are marked in labels.
    pub words: Vec<String>,
    /// Whether more items match than are listed.
    pub is_truncated: bool,
}

/// What the palette is opened with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PaletteRequest {
    /// The slug of a workload's tab: only workloads are listed, and this tab of the selected one is opened.
    pub switch: Option<String>,
    /// The names of a workload and of a cluster: until a text is typed, the actions on this release are listed.
    pub release: Option<(String, String)>,
}

/// Whether the palette is open, and what with.
#[derive(Debug, Clone, Copy)]
pub struct PaletteState {
    request: RwSignal<Option<PaletteRequest>>,
    /// What was typed after the palette was opened and before its field had the focus: its code may be on its way. `None` afterwards.
    typed: StoredValue<Option<String>>,
}

impl PaletteState {
    fn new() -> Self {
        Self { request: RwSignal::new(None), typed: StoredValue::new(None) }
    }

    /// Opens the palette.
    pub fn open(self, request: PaletteRequest) {
        self.typed.set_value(Some(String::new()));
        self.request.set(Some(request));
    }

    /// What it is open with; `None` while it is closed.
    pub fn request(self) -> Option<PaletteRequest> {
        self.request.get()
    }

    /// Whether it is open now. Not tracked.
    pub fn is_open(self) -> bool {
        self.request.with_untracked(Option::is_some)
    }

    /// Stores a key for the field, if the palette is being opened. Returns whether it did.
    #[cfg_attr(not(feature = "hydrate"), expect(dead_code, reason = "only browsers have keys"))]
    pub fn buffer_key(self, key: &str) -> bool {
        let store = |typed: &mut Option<String>| {
            let typed = typed.as_mut().filter(|_| key.chars().count() == 1);
            typed.map(|typed| typed.push_str(key)).is_some()
        };
        self.typed.try_update_value(store).unwrap_or_default()
    }

    /// The keys that were stored for the field.
    fn drain_keys(self) -> String {
        self.typed.try_update_value(Option::take).flatten().unwrap_or_default()
    }

    /// Closes it.
    pub fn close(self) {
        self.typed.set_value(None);
        self.request.set(None);
    }
}

/// The palette of the app, to be provided once, at its root.
pub fn provide_palette() {
    provide_context(PaletteState::new());
}

/// The palette of the app; one that nothing displays outside of it, as in tests.
pub fn use_palette() -> PaletteState {
    use_context::<PaletteState>().unwrap_or_else(PaletteState::new)
}

/// The search field of the top bar. Without script it opens the search page; with script a click opens the palette.
#[component]
pub fn SearchField() -> impl IntoView {
    let palette = use_palette();
    let open = move |event: leptos::ev::MouseEvent| {
        event.prevent_default();
        palette.open(PaletteRequest::default());
    };
    view! {
        <search class="topbar-search">
            <FilterForm action=paths::SEARCH submit_only=true>
                <label class="search search-quiet">
                    {icon("search")}
                    <input type="search" name="q" placeholder="Search" aria-label="Search everything" aria-keyshortcuts="Control+K Meta+K" autocomplete="off" on:click=open />
                    <kbd class="key">"Ctrl K"</kbd>
                </label>
            </FilterForm>
        </search>
        <a class="btn btn-sm btn-icon btn-quiet topbar-search-link" href=paths::SEARCH aria-label="Search" on:click=open>
            {icon("search")}
        </a>
    }
    .into_any()
}

/// Beside the name of a workload: leads to another one, and keeps the tab.
#[component]
pub fn WorkloadSwitch(
    /// The slug of the tab; empty for the first one.
    tab: Signal<String>,
) -> impl IntoView {
    let palette = use_palette();
    let open = move |event: leptos::ev::MouseEvent| {
        event.prevent_default();
        palette.open(PaletteRequest { switch: Some(tab.get_untracked()), ..PaletteRequest::default() });
    };
    view! {
        <a class="btn btn-sm btn-icon btn-quiet" href=move || paths::switch_workload(&tab.get()) aria-label="Switch workload" title="Switch workload" on:click=open>
            {icon("switch")}
        </a>
    }
    .into_any()
}
