//! The keys, shown with `?`.

use leptos::prelude::*;

const KEYS: [(&[&str], &str); 8] = [
    (&["/"], "search this page"),
    (&["g", "f"], "fleet"),
    (&["g", "w"], "workloads"),
    (&["g", "c"], "clusters"),
    (&["g", "e"], "events"),
    (&["↑", "↓", "←", "→"], "move in the matrix"),
    (&["Ctrl", "M"], "in an editor: let Tab indent, or leave again"),
    (&["?"], "these keys"),
];

/// The list of keys.
#[component]
pub fn Help() -> impl IntoView {
    let row = |(keys, what): (&'static [&'static str], &'static str)| {
        let keys = keys.iter().map(|key| view! { <kbd class="key">{*key}</kbd> " " }).collect_view();
        view! {
            <dt>{keys}</dt>
            <dd>{what}</dd>
        }
    };
    view! {
        <dialog class="dialog" id="help" aria-labelledby="help-title">
            <form method="dialog">
                <h2 class="dialog-title" id="help-title">
                    "Keys"
                </h2>
                <div class="dialog-body">
                    <dl class="pairs">{KEYS.map(row).collect_view()}</dl>
                    <p class="meta">"Single keys rest while you type."</p>
                </div>
                <div class="dialog-actions">
                    <button class="btn">"Close"</button>
                </div>
            </form>
        </dialog>
    }
    .into_any()
}
