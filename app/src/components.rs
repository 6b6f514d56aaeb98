//! Parts that several pages share. They know the nouns of `domain` and nothing of where data comes from.

pub mod age;
pub mod copy;
pub mod counts;
pub mod dialog;
pub mod editor;
pub mod empty;
pub mod field;
pub mod findings;
pub mod loaded;
pub mod pager;
pub mod problem;
pub mod status;
pub mod timeline;
pub mod words;

pub use age::Age;
pub use copy::{CopyBlock, CopyLine};
pub use counts::{CountLine, Group, Strip};
pub use dialog::Question;
pub use editor::Editor;
pub use empty::Empty;
pub use field::{Banner, Reason, Refusal, search_field};
pub use findings::FindingList;
pub use loaded::{loaded, loaded_part};
pub use pager::Pager;
pub use problem::{Problem, Said};
pub use status::{Look, StateWord, cell, health_word, reach_word, sync_word};
pub use timeline::Timeline;
pub use words::{count_of, joined, words};

use leptos::prelude::*;

/// An icon of the sprite, 16 px drawn at 14. The word stands beside it, so it is silent.
pub fn icon(name: &'static str) -> impl IntoView {
    icon_sized(name, "icon")
}

/// The same at another size: `icon icon-16` in lists of faults, `icon icon-18` on a phone.
pub fn icon_sized(name: &'static str, class: &'static str) -> impl IntoView {
    view! {
        <svg class=class aria-hidden="true">
            <use href=format!("/icons.svg#{name}") />
        </svg>
    }
}
