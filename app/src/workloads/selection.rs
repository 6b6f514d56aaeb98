//! The selected rows of the list, and the bar with the actions on them.
//!
//! The check boxes are fields of a form with the method GET, so the actions work without script for the rows of the page. With
//! script the selection also holds rows of other pages, and stays when the list is read again.

use std::collections::BTreeSet;

use domain::selection::{BulkAction, MAX_SELECTED};
use leptos::ev::MouseEvent;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};
use leptos_router::params::ParamsMap;

use super::list_address::ListAddress;
use crate::paths;

/// The id of the form that the check boxes belong to.
const FORM: &str = "selection";
/// The query parameter with the name of a selected workload; it occurs once for each.
pub const NAME_PARAMETER: &str = "w";

/// The names of the selected workloads in the address.
pub fn names_in_query(query: &ParamsMap) -> Vec<String> {
    let mut names = query.get_all(NAME_PARAMETER).unwrap_or_default();
    names.truncate(MAX_SELECTED);
    names
}

/// The selected workloads.
#[derive(Clone, Copy)]
pub struct RowSelection {
    names: RwSignal<BTreeSet<String>>,
    /// The names on the current page, in their order.
    page: RwSignal<Vec<String>>,
    /// The row that was clicked last: a click with Shift selects from it.
    anchor: StoredValue<Option<String>>,
}

impl RowSelection {
    /// The selection in the address. It is empty again when an action is done.
    pub fn from_address(query: Memo<ParamsMap>) -> Self {
        let begin = query.with_untracked(|query| match query.get("done") {
            Some(_) => BTreeSet::new(),
            None => names_in_query(query).into_iter().collect(),
        });
        let names = RwSignal::new(begin);
        Effect::new(move |_| {
            if query.with(|query| query.get("done").is_some()) {
                names.update(BTreeSet::clear);
            }
        });
        Self { names, page: RwSignal::new(Vec::new()), anchor: StoredValue::new(None) }
    }

    /// The names on the page that is displayed.
    pub fn set_page(self, names: Vec<String>) {
        if self.page.with_untracked(|page| *page != names) {
            self.page.set(names);
        }
    }

    /// Whether this workload is selected.
    pub fn is_selected(self, name: &str) -> impl Fn() -> bool + Send + Sync + use<> {
        let name = name.to_owned();
        move || self.names.with(|names| names.contains(&name))
    }

    fn select(self, names: impl IntoIterator<Item = String>, is_on: bool) {
        self.names.update(|all| {
            for name in names {
                if is_on {
                    all.insert(name);
                } else {
                    all.remove(&name);
                }
            }
        });
    }

    fn click(self, name: &str, event: &MouseEvent) {
        let is_on = event_target_checked(event);
        let anchor = self.anchor.get_value().filter(|_| event.shift_key());
        let range = self.page.with_untracked(|page| find_range(page, anchor.as_deref(), name));
        self.select(range, is_on);
        self.anchor.set_value(Some(name.to_owned()));
    }

    /// The check box of a row.
    pub fn row_checkbox(self, name: String) -> AnyView {
        let begin = self.names.with_untracked(|names| names.contains(&name));
        let is_selected = self.is_selected(&name);
        let label = format!("Select {name}");
        let value = name.clone();
        view! {
            <input
                class="checkbox"
                type="checkbox"
                form=FORM
                name=NAME_PARAMETER
                value=value
                aria-label=label
                checked=begin
                prop:checked=is_selected
                on:click=move |event: MouseEvent| self.click(&name, &event)
            />
        }
        .into_any()
    }

    /// Number of the rows of this page, and of those that are selected.
    fn count_page(self) -> (usize, usize) {
        self.page.with(|page| {
            self.names.with(|names| (page.len(), page.iter().filter(|name| names.contains(*name)).count()))
        })
    }

    /// The check box in the head, for all rows of the page.
    pub fn page_checkbox(self) -> AnyView {
        let is_all = move || {
            let (rows, selected) = self.count_page();
            rows > 0 && rows == selected
        };
        let is_some = move || {
            let (rows, selected) = self.count_page();
            selected > 0 && selected < rows
        };
        view! {
            <input
                class="checkbox noscript:hidden"
                type="checkbox"
                aria-label="Select all on this page"
                prop:checked=is_all
                prop:indeterminate=is_some
                on:change=move |event| self.select(self.page.get_untracked(), event_target_checked(&event))
            />
        }
        .into_any()
    }
}

/// The names from the anchor to the clicked one, both included; only the clicked one if the anchor is not on the page.
fn find_range(page: &[String], anchor: Option<&str>, clicked: &str) -> Vec<String> {
    let find = |name: &str| page.iter().position(|one| one == name);
    let (Some(anchor), Some(clicked)) = (anchor.and_then(find), find(clicked)) else {
        return vec![clicked.to_owned()];
    };
    page[anchor.min(clicked)..=anchor.max(clicked)].to_vec()
}

/// The number of selected workloads and the actions on them. With script it is hidden while nothing is selected.
#[component]
pub fn SelectionBar(
    /// The selection.
    selection: RowSelection,
) -> impl IntoView {
    let query = use_query_map();
    let names = selection.names;
    let count = move || names.with(BTreeSet::len);
    let is_empty = move || (count() == 0).to_string();
    let fields = move || {
        let address = ListAddress::from_query(&query.get());
        let field = |(name, value): (&'static str, &str)| {
            (!value.is_empty()).then(|| view! { <input type="hidden" name=name value=value.to_owned() /> })
        };
        address.parts().map(field).collect_view()
    };
    let is_too_many = move || count() > MAX_SELECTED;
    let select_page = move |_| selection.select(selection.page.get_untracked(), true);
    view! {
        <form class="selection-bar" id=FORM method="get" action=paths::WORKLOADS data-empty=is_empty aria-label="Selected workloads">
            {fields}
            <p aria-live="polite">
                <span class="noscript:hidden">{move || format!("{} selected", count())}</span>
                <span class="hidden noscript:inline">"With the selected workloads:"</span>
            </p>
            <button class="btn btn-sm btn-quiet noscript:hidden" type="button" on:click=select_page>
                "Select all on this page"
            </button>
            <button class="btn btn-sm btn-quiet noscript:hidden" type="button" on:click=move |_| names.update(BTreeSet::clear)>
                "Clear"
            </button>
            <span class="selection-actions">
                {move || is_too_many().then(|| view! {
                    <span class="meta" role="note">{format!("At most {MAX_SELECTED} at a time")}</span>
                })}
                {action_button(selection, query, BulkAction::Sync, "btn btn-sm")}
                {action_button(selection, query, BulkAction::Unpublish, "btn btn-sm btn-danger")}
            </span>
        </form>
    }
    .into_any()
}

/// Opens the dialog of an action on the selection.
fn action_button(
    selection: RowSelection,
    query: Memo<ParamsMap>,
    action: BulkAction,
    class: &'static str,
) -> AnyView {
    let navigate = use_navigate();
    let open = move |event: MouseEvent| {
        event.prevent_default();
        let address = ListAddress::from_query(&query.get_untracked());
        let target = selection.names.with_untracked(|names| {
            let names = names.iter().take(MAX_SELECTED).map(|name| (NAME_PARAMETER, name.as_str()));
            let pairs: Vec<(&str, &str)> = names.chain([("dialog", action.as_str())]).collect();
            address.address(&pairs)
        });
        navigate(&target, NavigateOptions { scroll: false, ..NavigateOptions::default() });
    };
    view! {
        <button class=class type="submit" name="dialog" value=action.as_str() on:click=open>
            {format!("{}…", action.label())}
        </button>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_with_shift_selects_all_rows_from_the_last_click() {
        let page: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        assert_eq!(find_range(&page, Some("d"), "b"), ["b", "c", "d"]);
        assert_eq!(find_range(&page, None, "b"), ["b"]);
        assert_eq!(find_range(&page, Some("gone"), "b"), ["b"]);
    }
}
