//! The keyboard shortcuts, displayed with `?`.

use leptos::prelude::*;

const SHORTCUTS: [(&[&str], &str); 9] = [
    (&["/"], "search this page"),
    (&["g", "f"], "fleet"),
    (&["g", "w"], "workloads"),
    (&["g", "c"], "clusters"),
    (&["g", "e"], "events"),
    (&["g", "s"], "settings"),
    (&["↑", "↓", "←", "→"], "move in the matrix"),
    (&["Ctrl", "M"], "in an editor: switch whether Tab indents or leaves"),
    (&["?"], "show these shortcuts"),
];

/// The list of shortcuts.
#[component]
pub fn ShortcutHelp() -> impl IntoView {
    let row = |(keys, description): (&'static [&'static str], &'static str)| {
        let keys = keys.iter().map(|key| view! { <kbd class="key">{*key}</kbd> " " }).collect_view();
        view! {
            <dt>{keys}</dt>
            <dd>{description}</dd>
        }
    };
    view! {
        <dialog class="dialog" id="help" aria-labelledby="help-title">
            <form method="dialog">
                <h2 class="dialog-title" id="help-title">
                    "Shortcuts"
                </h2>
                <div class="dialog-body">
                    <dl class="pairs">{SHORTCUTS.map(row).collect_view()}</dl>
                    <p class="meta">"Shortcuts are off while you type."</p>
                </div>
                <div class="dialog-actions">
                    <button class="btn">"Close"</button>
                </div>
            </form>
        </dialog>
    }
    .into_any()
}
