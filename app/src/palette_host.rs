//! Where the palette is displayed. Apart from the search itself, because it needs the lazy parts, which import every page.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::lazy::{self, LazyPart, SearchView};
use crate::live;
use crate::search::use_palette;

/// Displays the palette while it is open. The workloads that are opened are recorded for it.
#[component]
pub fn PaletteHost() -> impl IntoView {
    let palette = use_palette();
    let path = use_location().pathname;
    Effect::new(move |_| path.with(|path| live::search::record_workload(path)));
    move || {
        let request = palette.request()?;
        Some(lazy::lazy_view(LazyPart::Search, lazy::search(SearchView::Palette(request))))
    }
}
