//! What the address selects on a page that stays when its query changes, such as a tab.
//!
//! An effect that is nested in the state of another one can run once more after its owner was disposed, if it was marked dirty before:
//! the other one releases its state in a later task. It then reads values that no longer exist, and the page stops. So a view is not
//! replaced in the same turn in which its effects are marked dirty.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;

use crate::paths::WorkloadTab;

/// The query of the address as long as the address is that of this tab of a workload; on a page without tabs, that of the address. The
/// address of another tab does not change this one, which is about to be replaced: it reads nothing again.
pub fn use_tab_query() -> Memo<ParamsMap> {
    let query = use_query_map();
    Memo::new(move |former: Option<&ParamsMap>| select_tab_query(former, query.get()))
}

fn select_tab_query(former: Option<&ParamsMap>, now: ParamsMap) -> ParamsMap {
    match former {
        Some(former) if read_tab(former) != read_tab(&now) => former.clone(),
        _ => now,
    }
}

/// The tab of a workload that a query selects; none if it names no tab of a workload.
pub fn read_tab(query: &ParamsMap) -> Option<WorkloadTab> {
    WorkloadTab::from_slug(&query.get("tab").unwrap_or_default())
}

/// A copy of a value of the address, for the closure that replaces a whole view when the value changes. It changes after the effects
/// have run that are marked by the same change of the address. The router replaces pages in the same order.
pub fn defer_change<T>(source: Memo<T>) -> ReadSignal<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let deferred = RwSignal::new(source.get_untracked());
    Effect::new(move |_| {
        let value = source.get();
        if deferred.with_untracked(|former| *former != value) {
            deferred.set(value);
        }
    });
    deferred.read_only()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render_tests::query;

    #[test]
    fn the_query_of_another_tab_does_not_replace_that_of_this_tab() {
        let before = query(&[("tab", "overrides"), ("cluster", "eu-1")]);
        let other_cluster = query(&[("tab", "overrides"), ("cluster", "eu-2")]);
        assert_eq!(select_tab_query(None, before.clone()), before);
        assert_eq!(select_tab_query(Some(&before), other_cluster.clone()), other_cluster);
        assert_eq!(select_tab_query(Some(&before), query(&[("tab", "history")])), before);
        assert_eq!(select_tab_query(Some(&before), query(&[])), before);
    }

    #[test]
    fn the_first_tab_follows_the_address_whether_it_names_the_tab_or_not() {
        let named = query(&[("tab", WorkloadTab::Clusters.slug()), ("state", "failing")]);
        assert_eq!(select_tab_query(Some(&named), query(&[])), query(&[]));
    }

    #[test]
    fn the_query_of_a_page_without_tabs_follows_the_address() {
        let before = query(&[("override", "eu")]);
        let now = query(&[("override", "us")]);
        assert_eq!(select_tab_query(Some(&before), now.clone()), now);
    }
}
