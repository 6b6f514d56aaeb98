//! The keyboard shortcuts, displayed with `?`.

use leptos::prelude::*;

use crate::live::keys::GO_TO_KEYS;
use crate::shortcuts::ShortcutSwitch;

/// Keys and what they do.
const SHORTCUTS: [(&[&str], &str); 8] = [
    (&["Ctrl", "K"], "search, and actions by name (⌘ K on a Mac)"),
    (&["/"], "filter this list, or search"),
    (&["j", "k"], "next and previous row; then also ↓ and ↑"),
    (&["Enter"], "open the row"),
    (&["↑", "↓", "←", "→"], "move in the matrix"),
    (&["."], "in the matrix: actions on the release"),
    (&["Ctrl", "M"], "in an editor: switch whether Tab indents or leaves"),
    (&["?"], "show these shortcuts"),
];

/// The list of shortcuts.
#[component]
pub fn ShortcutHelp() -> impl IntoView {
    let row = |keys: &[&'static str], description: &'static str| {
        let keys = keys.iter().map(|key| view! { <kbd class="key">{*key}</kbd> " " }).collect_view();
        view! {
            <dt>{keys}</dt>
            <dd>{description}</dd>
        }
    };
    view! {
        <dialog class="dialog" id="help" aria-labelledby="help-title">
            <h2 class="dialog-title" id="help-title">
                "Shortcuts"
            </h2>
            <div class="dialog-body">
                <dl class="pairs">
                    {SHORTCUTS.map(|(keys, description)| row(keys, description)).collect_view()}
                    {GO_TO_KEYS.map(|(key, page, _)| row(&["g", key], page)).collect_view()}
                </dl>
                <p class="meta">"Shortcuts are off while you type."</p>
            </div>
            <div class="dialog-actions">
                <ShortcutSwitch class="btn btn-quiet" />
                <form method="dialog">
                    <button class="btn" autofocus=true>"Close"</button>
                </form>
            </div>
        </dialog>
    }
    .into_any()
}
