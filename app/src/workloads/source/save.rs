//! Saves the files of a draft, for the step of the wizard and for its autosave.

use domain::Timestamp;
use domain::workload::{LatestEdit, SourceFile};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;
use crate::workloads::chart::fields::ChartForm;
use crate::workloads::git::fields::GitForm;

/// The result of a save.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedDraft {
    /// The new revision of the draft.
    pub revision: i64,
    /// When it was stored, by the server's clock.
    pub saved_at: Timestamp,
}

/// The form as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceForm {
    /// Name of the workload.
    pub name: String,
    /// The draft revision that the form was loaded with.
    pub base_revision: i64,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// The files; none for a chart.
    pub files: Vec<SourceFile>,
    /// The chart; its key is empty for files.
    pub chart: ChartForm,
    /// The Git repository; not set for other sources.
    pub git: GitForm,
}

/// Saves the files of the draft. `then` selects where the wizard goes next.
#[server(prefix = "/api/fn", endpoint = "source_save")]
pub async fn source_save(form: SourceForm, #[server(default)] then: String) -> AppResult<SavedDraft> {
    use super::limits::create_source;
    use crate::host;
    use crate::workloads::wizard::{WizardStep, redirect_after};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let source = create_source(form.files, &form.chart, &form.git).map_err(host::with_status)?;
    let patch = hub::DraftPatch {
        namespace: Some(form.namespace.trim().to_owned()),
        source: Some(source),
        ..Default::default()
    };
    // The form is often submitted after an autosave: an unchanged draft is accepted and not stored again.
    let revision =
        host::into_app_result(hub.change_draft(&actor, &form.name, patch, form.base_revision).await)?
            .revision;
    redirect_after(&form.name, WizardStep::Source, &then);
    Ok(SavedDraft { revision, saved_at: hub.clock().now() })
}

/// Reads who changed a draft last, and when.
#[server(prefix = "/api/fn", endpoint = "draft_change_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_change_read(name: String) -> AppResult<LatestEdit> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.get_latest_edit(&name).await)
}
