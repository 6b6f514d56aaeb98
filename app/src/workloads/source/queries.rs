//! The draft of a workload with what the fields of its source show beside it. One query reads both for a page of the server: the fields are shown
//! with the draft, where no resource can be created.

use domain::git_status::GitSourceStatus;
use domain::workload::Workload;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;
use crate::resource::PageResource;
use crate::workloads::chart::queries::ChartLookup;
use crate::workloads::queries::{FileData, create_file_resource};

/// A workload with its draft, and what the server finds about the source of the draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceContent {
    /// The workload.
    pub workload: Workload,
    /// The bytes of its files, if their texts are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u32>,
    /// What is found about its chart, if its source is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<ChartLookup>,
    /// The state of its Git source, or why it can't be read, if its source is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<AppResult<GitSourceStatus>>,
}

impl FileData for SourceContent {
    fn omitted_bytes(&self) -> Option<u32> {
        self.omitted_bytes
    }
}

/// Reads a workload with its draft, for the fields of its source; without the texts of large files, unless `is_whole`. What these show beside
/// it is read if `with_lookup`.
#[server(prefix = "/api/fn", endpoint = "source_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn source_read(
    name: String,
    #[server(default)] is_whole: bool,
    #[server(default)] with_lookup: bool,
) -> AppResult<SourceContent> {
    use domain::workload::Source;

    use crate::host;
    use crate::workloads::chart::queries::look_up_chart;
    use crate::workloads::queries::{DraftContent, draft_read};
    let hub = host::hub_for_reader()?;
    let DraftContent { workload, omitted_bytes } = Box::pin(draft_read(name, is_whole)).await?;
    let (mut chart, mut git) = (None, None);
    match &workload.draft.source {
        Source::Chart(source) if with_lookup => chart = Some(Box::pin(look_up_chart(&hub, source)).await?),
        Source::Git(_) | Source::Oci(_) if with_lookup => {
            git = Some(host::into_part_result(hub.get_git_source(&workload.name).await)?);
        }
        _ => {}
    }
    Ok(SourceContent { workload, omitted_bytes, chart, git })
}

/// The draft of a workload for the fields of its source, read once: concurrent edits must not change the text while a person edits it. The page
/// of the server is complete. The browser shows the draft first, and the fields read the rest: a chart may have to be fetched.
#[track_caller]
pub fn create_source_resource(name: Memo<String>, is_left: Memo<bool>) -> PageResource<SourceContent> {
    create_file_resource(
        move || (name.get(), is_left.get()),
        |(name, _), is_whole| source_read(name, is_whole, cfg!(feature = "ssr")),
    )
}
