//! The draft of a workload with what the fields of its source show beside it. One query reads both: the fields are shown with the draft, where no
//! resource can be created.

use domain::git_status::GitSourceStatus;
use domain::workload::Workload;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;
use crate::workloads::chart::queries::ChartLookup;
use crate::workloads::queries::FileData;

/// A workload with its draft, and what was found about the source of the draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceContent {
    /// The workload.
    pub workload: Workload,
    /// The bytes of its files, if their texts are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u32>,
    /// What the server finds about its source.
    pub lookup: SourceLookup,
}

impl FileData for SourceContent {
    fn omitted_bytes(&self) -> Option<u32> {
        self.omitted_bytes
    }
}

/// What the server finds about the source of a draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SourceLookup {
    /// Nothing: the files are in the draft.
    Files,
    /// The chart.
    Chart(Box<ChartLookup>),
    /// The state of the stored Git source, or why it can't be read.
    Git(Box<AppResult<GitSourceStatus>>),
}

impl SourceLookup {
    /// What was found about a chart, if the source is one.
    pub fn into_chart(self) -> Option<ChartLookup> {
        match self {
            Self::Chart(lookup) => Some(*lookup),
            Self::Files | Self::Git(_) => None,
        }
    }

    /// The state of the Git source, if the source is one.
    pub fn into_git(self) -> Option<AppResult<GitSourceStatus>> {
        match self {
            Self::Git(status) => Some(*status),
            Self::Files | Self::Chart(_) => None,
        }
    }
}

/// Reads a workload with its draft, for the fields of its source; without the texts of large files, unless `is_whole`.
#[server(prefix = "/api/fn", endpoint = "source_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn source_read(name: String, #[server(default)] is_whole: bool) -> AppResult<SourceContent> {
    use domain::workload::Source;

    use crate::host;
    use crate::workloads::chart::queries::look_up_chart;
    use crate::workloads::queries::{DraftContent, draft_read};
    let hub = host::hub_for_reader()?;
    let DraftContent { workload, omitted_bytes } = Box::pin(draft_read(name, is_whole)).await?;
    let lookup = match &workload.draft.source {
        Source::Yaml { .. } => SourceLookup::Files,
        Source::Chart(source) => SourceLookup::Chart(Box::new(Box::pin(look_up_chart(&hub, source)).await?)),
        Source::Git(_) | Source::Oci(_) => {
            let status = hub.get_git_source(&workload.name).await;
            SourceLookup::Git(Box::new(host::into_part_result(status)?))
        }
    };
    Ok(SourceContent { workload, omitted_bytes, lookup })
}
