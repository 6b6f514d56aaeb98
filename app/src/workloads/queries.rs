//! The draft of a workload, which several forms read.

use domain::workload::{Source, Workload};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::form_page::watch_left_form;
use crate::errors::AppResult;
use crate::resource::{PageResource, create_resource};

/// Most bytes of the files of a draft that are in a page, which has them several times.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// A workload with its draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DraftContent {
    /// The workload.
    pub workload: Workload,
    /// The bytes of its files, if their texts are left out because a page would be too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u32>,
}

impl DraftContent {
    /// The whole draft.
    pub const fn whole(workload: Workload) -> Self {
        Self { workload, omitted_bytes: None }
    }

    /// What a page has of the draft: all of it, or all but the texts of its files.
    pub fn for_page(mut workload: Workload) -> Self {
        let Source::Yaml { files } = &mut workload.draft.source else { return Self::whole(workload) };
        let bytes: usize = files.iter().map(|file| file.text.len()).sum();
        if bytes <= MAX_PAGE_BYTES {
            return Self::whole(workload);
        }
        for file in files {
            file.text.clear();
        }
        Self { workload, omitted_bytes: Some(u32::try_from(bytes).unwrap_or(u32::MAX)) }
    }
}

/// Reads a workload with its draft, for the forms; without the texts of large files, unless `is_whole`.
#[server(prefix = "/api/fn", endpoint = "draft_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_read(name: String, #[server(default)] is_whole: bool) -> AppResult<DraftContent> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let workload = host::into_app_result(hub.get_workload(&name).await)?.workload;
    Ok(if is_whole { DraftContent::whole(workload) } else { DraftContent::for_page(workload) })
}

/// The draft for a form with its files. What is left out of a large page, the browser reads when the page is there.
pub fn create_draft_resource(name: Memo<String>) -> PageResource<DraftContent> {
    let (is_left, is_whole) = (watch_left_form(), RwSignal::new(false));
    let data = create_resource(
        move || (name.get(), is_left.get(), is_whole.get()),
        |(name, _, is_whole)| draft_read(name, is_whole),
    );
    Effect::new(move |_| {
        let is_omitted = |read: &Option<AppResult<DraftContent>>| matches!(read, Some(Ok(content)) if content.omitted_bytes.is_some());
        if data.with(is_omitted) {
            is_whole.set(true);
        }
    });
    data
}

/// The form of a draft; until all of it is read, a note in place of it. A form without the texts could store them as empty.
pub fn show_draft(content: DraftContent, show: impl FnOnce(Workload) -> AnyView) -> AnyView {
    let Some(bytes) = content.omitted_bytes else { return show(content.workload) };
    let note = format!(
        "The files have {} MiB in all and are read after the page. That needs JavaScript; without it, use the command line or the REST API.",
        bytes >> 20
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
    use domain::labels::Labels;
    use domain::workload::{Intent, SourceFile, WorkloadSpec};
    use domain::{ProjectId, Timestamp, WorkloadId};

    use super::*;
    use crate::render_tests::render_html;

    fn workload(bytes: usize) -> Workload {
        let file = |name: &str| SourceFile { name: name.to_owned(), text: "x".repeat(bytes / 2) };
        let source = Source::Yaml { files: vec![file("a.yaml"), file("b.yaml")] };
        Workload {
            id: WorkloadId::from_parts(1, 1),
            project: ProjectId::from_parts(1, 1),
            name: "web".to_owned(),
            labels: Labels::new(),
            owners: Vec::new(),
            draft: WorkloadSpec { source, ..WorkloadSpec::default() },
            intent: Intent::Draft,
            published: None,
            draft_changed: true,
            created_by: "ana".to_owned(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            revision: 1,
        }
    }

    #[test]
    fn p19_a_page_has_all_of_a_small_draft_and_no_texts_of_a_large_one() {
        let small = workload(MAX_PAGE_BYTES);
        assert_eq!(DraftContent::for_page(small.clone()), DraftContent::whole(small));
        let large = DraftContent::for_page(workload(2 * MAX_PAGE_BYTES));
        assert_eq!(large.omitted_bytes, Some(2 << 20));
        let Source::Yaml { files } = &large.workload.draft.source else { panic!("{large:?}") };
        assert_eq!(
            files.iter().map(|file| (&*file.name, file.text.len())).collect::<Vec<_>>(),
            [("a.yaml", 0), ("b.yaml", 0)]
        );
    }

    #[test]
    fn p19_no_form_is_made_of_a_draft_whose_texts_are_left_out() {
        let shown = |content: DraftContent| {
            render_html(move || show_draft(content, |workload| view! { <b>{workload.name}</b> }.into_any()))
        };
        assert!(shown(DraftContent::whole(workload(10))).contains("<b>web</b>"));
        let page = shown(DraftContent::for_page(workload(4 << 20)));
        assert!(page.contains("The files have 4 MiB in all") && !page.contains("web"), "{page}");
    }
}
