//! The draft of a workload, which several forms read.

use std::future::Future;

use domain::workload::Workload;
use leptos::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;
use crate::resource::{PageResource, create_resource};

/// Data of a page that has the texts of files, unless they are so large that the page would be too large.
pub trait FileData {
    /// The bytes of the files whose texts are left out.
    fn omitted_bytes(&self) -> Option<u32>;
}

/// A workload with its draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DraftContent {
    /// The workload.
    pub workload: Workload,
    /// The bytes of its files, if their texts are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u32>,
}

/// Reads a workload with its draft, for the forms; without the texts of large files, unless `is_whole`.
#[server(prefix = "/api/fn", endpoint = "draft_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_read(name: String, #[server(default)] is_whole: bool) -> AppResult<DraftContent> {
    use crate::host;
    use crate::workloads::source::limits::clear_large_texts;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let workload = host::into_app_result(hub.get_workload(&name).await)?.workload;
    let mut workload = host::into_app_result(hub.hide_secrets(&actor, workload).await)?;
    let omitted_bytes = clear_large_texts(&mut workload.draft.source, is_whole);
    Ok(DraftContent { workload, omitted_bytes })
}

/// Runs `query` with the value of `source`, first without the texts of large files. If they are left out, the browser reads everything when
/// the page is there.
#[track_caller]
pub fn create_file_resource<S, T, F>(
    source: impl Fn() -> S + Send + Sync + 'static,
    query: impl Fn(S, bool) -> F + Send + Sync + 'static,
) -> PageResource<T>
where
    S: PartialEq + Clone + Send + Sync + 'static,
    T: FileData + Serialize + DeserializeOwned + Send + Sync + 'static,
    F: Future<Output = AppResult<T>> + Send + 'static,
{
    let is_whole = RwSignal::new(false);
    let data = create_resource(
        move || (source(), is_whole.get()),
        move |(source, is_whole)| query(source, is_whole),
    );
    Effect::new(move |_| {
        let is_omitted = data.with(|read| {
            let read = read.as_ref().and_then(|read| read.as_ref().ok());
            read.is_some_and(|read| read.omitted_bytes().is_some())
        });
        if is_omitted {
            is_whole.set(true);
        }
    });
    data
}

/// What is shown of data with all of its texts, and a note until they are read. A form without the texts could store them as empty.
pub fn show_files<T: FileData>(data: T, show: impl FnOnce(T) -> AnyView) -> AnyView {
    match data.omitted_bytes() {
        Some(bytes) => omission_note(bytes),
        None => show(data),
    }
}

/// A note in place of files whose texts are left out.
pub fn omission_note(bytes: u32) -> AnyView {
    let size = if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) };
    let note = format!(
        "The files have {size} in all and are read after the page. That needs JavaScript; without it, use the command line or the REST API."
    );
    view! {
        <p class="meta" role="status">
            {note}
        </p>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    struct Files(Option<u32>);

    impl FileData for Files {
        fn omitted_bytes(&self) -> Option<u32> {
            self.0
        }
    }

    #[test]
    fn p19_no_form_is_made_of_files_whose_texts_are_left_out() {
        let shown = |omitted_bytes: Option<u32>| {
            render_html(move || {
                show_files(Files(omitted_bytes), |_| view! { <form id="files"></form> }.into_any())
            })
        };
        assert!(shown(None).contains("<form"));
        let page = shown(Some(4 << 20));
        assert!(page.contains("The files have 4 MiB in all") && !page.contains("<form"), "{page}");
        assert!(shown(Some(240_004)).contains("The files have 234 KiB in all"));
    }
}
