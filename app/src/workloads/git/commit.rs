//! One commit, in a line.

use domain::git::PinnedCommit;
use leptos::prelude::*;

use crate::components::age::format_utc;

/// A commit with its author and the number of its files.
pub fn describe_commit(pinned: &PinnedCommit) -> impl IntoView + use<> {
    let files = if pinned.files == 1 { "1 file".to_owned() } else { format!("{} files", pinned.files) };
    view! {
        <p>
            <code>{pinned.short().to_owned()}</code>
            {format!(" {} ", pinned.subject)}
            <span class="text-2">
                {format!("{}, {}; {}, {files}", pinned.author, format_utc(pinned.committed_at), pinned.content.label())}
            </span>
        </p>
    }
}
