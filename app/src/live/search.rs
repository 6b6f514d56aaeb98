//! What the search needs of the browser: which workloads were opened last in this tab, the selection in its field, and the
//! scroll position of its list.

#[cfg(not(feature = "hydrate"))]
mod server {
    use leptos::html::{Div, Input};
    use leptos::prelude::NodeRef;

    /// Records that the page at this path is open, if it is a page of a workload.
    pub fn record_workload(_path: &str) {}
    /// The names of the workloads that were opened last, the latest first, separated by commas.
    pub fn recent_workloads() -> String {
        String::new()
    }
    /// Whether a part of the text of a field is selected.
    pub fn has_selection(_field: NodeRef<Input>) -> bool {
        false
    }
    /// Scrolls a list as far as needed to show the element with this id, which is the first one or not.
    pub fn scroll_list(_list: NodeRef<Div>, _id: &str, _is_first: bool) {}
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use leptos::html::{Div, Input};
    use leptos::prelude::*;
    use wasm_bindgen::JsCast;
    use web_sys::{HtmlElement, Storage};

    /// The key of the names. They are kept for the tab only: another user may sign in later.
    const RECENT: &str = "recent-workloads";
    /// Most names.
    const RECENT_MAX: usize = 5;

    fn storage() -> Option<Storage> {
        web_sys::window()?.session_storage().ok()?
    }

    /// Records that the page at this path is open, if it is a page of a workload.
    pub fn record_workload(path: &str) {
        let name = path.strip_prefix("/workloads/").and_then(|rest| rest.split('/').next());
        let (Some(name), Some(storage)) = (name.filter(|name| !matches!(*name, "" | "new")), storage())
        else {
            return;
        };
        let recent = recent_workloads();
        let others = recent.split(',').filter(|other| !other.is_empty() && *other != name);
        let names: Vec<&str> = std::iter::once(name).chain(others).take(RECENT_MAX).collect();
        let _ = storage.set_item(RECENT, &names.join(","));
    }

    /// The names of the workloads that were opened last, the latest first, separated by commas.
    pub fn recent_workloads() -> String {
        storage().and_then(|storage| storage.get_item(RECENT).ok()?).unwrap_or_default()
    }

    /// Whether a part of the text of a field is selected.
    pub fn has_selection(field: NodeRef<Input>) -> bool {
        field.get_untracked().is_some_and(|field| {
            field.selection_start().ok().flatten() != field.selection_end().ok().flatten()
        })
    }

    /// Scrolls a list as far as needed to show the element with this id, which is the first one or not.
    pub fn scroll_list(list: NodeRef<Div>, id: &str, is_first: bool) {
        let element = document().get_element_by_id(id).and_then(|found| found.dyn_into::<HtmlElement>().ok());
        let (Some(list), Some(element)) = (list.get_untracked(), element) else { return };
        let (top, height) = (element.offset_top(), element.offset_height());
        if is_first {
            // With the title of its section.
            list.set_scroll_top(0);
        } else if top < list.scroll_top() {
            list.set_scroll_top(top);
        } else if top + height > list.scroll_top() + list.client_height() {
            list.set_scroll_top(top + height - list.client_height());
        }
    }
}
