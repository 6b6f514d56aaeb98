//! One commit, in a line.

use domain::remote::PinnedCommit;
use leptos::prelude::*;

use crate::components::age::format_utc;

/// A commit or an artifact with its author and the number of its files.
pub fn describe_commit(pinned: &PinnedCommit) -> impl IntoView + use<> {
    // What an artifact does not say about itself is left out.
    let committed = (pinned.committed_at.millis() > 0).then(|| format_utc(pinned.committed_at));
    let origin: Vec<String> =
        [pinned.author.clone()].into_iter().chain(committed).filter(|text| !text.is_empty()).collect();
    let origin = if origin.is_empty() { String::new() } else { format!("{}; ", origin.join(", ")) };
    let files = if pinned.files == 1 { "1 file".to_owned() } else { format!("{} files", pinned.files) };
    view! {
        <p>
            <code>{pinned.short().to_owned()}</code>
            {format!(" {} ", pinned.subject)}
            <span class="text-2">
                {format!("{origin}{}, {files}", pinned.content.label())}
            </span>
        </p>
    }
}
