//! Lists of values that a field offers.

use leptos::prelude::*;

use crate::workloads::placement::fleet_values::Suggestion;

/// The `datalist` with this id.
pub(super) fn suggestion_list(
    id: String,
    read: impl Fn() -> Vec<Suggestion> + Send + Sync + 'static,
) -> AnyView {
    // Only a change of the suggestions renders the list again.
    let all = Memo::new(move |_| read());
    let option = |one: Suggestion| view! { <option value=one.text>{one.label}</option> };
    view! { <datalist id=id>{move || all.get().into_iter().map(option).collect_view()}</datalist> }.into_any()
}
