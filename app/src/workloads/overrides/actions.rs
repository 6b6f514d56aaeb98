//! Server functions of the overrides: read, save and remove.

use domain::Timestamp;
use domain::overrides::Override;
use domain::project::Project;
use domain::workload::Workload;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::form::OverrideForm;
use crate::errors::AppResult;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::draft_form::DraftForm;
use crate::workloads::draft_part::DraftPart;
use crate::workloads::placement::candidates::Candidates;
use crate::workloads::queries::FileData;

/// Data of the editor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverridesData {
    /// The workload with its whole draft, unless the texts of its files are left out.
    pub workload: Workload,
    /// The bytes of its files, if their texts are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_bytes: Option<u32>,
    /// The fleet.
    pub candidates: Candidates,
    /// The project, whose locked values are above those of every override.
    pub project: Project,
}

impl FileData for OverridesData {
    fn omitted_bytes(&self) -> Option<u32> {
        self.omitted_bytes
    }
}

/// Reads the data of the editor; without the texts of large files, unless `is_whole`.
#[server(prefix = "/api/fn", endpoint = "overrides_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn overrides_read(name: String, #[server(default)] is_whole: bool) -> AppResult<OverridesData> {
    use crate::host;
    use crate::workloads::source::limits::clear_large_texts;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let (workload, fleet) = host::into_app_result(hub.get_draft_with_placement_inputs(&name).await)?;
    let mut workload = host::into_app_result(hub.hide_secrets(&actor, workload).await)?;
    let groups = host::into_app_result(hub.hide_secrets(&actor, fleet.groups).await)?;
    let candidates = Candidates::new(fleet.clusters, groups, &fleet.current);
    let project = host::into_app_result(hub.get_project().await)?;
    let project = host::into_app_result(hub.hide_secrets(&actor, project).await)?;
    let omitted_bytes = clear_large_texts(&mut workload.draft.source, is_whole);
    Ok(OverridesData { workload, omitted_bytes, candidates, project })
}

/// A stored change of an override.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredOverride {
    /// The workload.
    pub workload: String,
    /// The new revision of its draft.
    pub revision: i64,
    /// The name of the override.
    pub name: String,
    /// When it was stored, by the server's clock.
    pub saved_at: Timestamp,
    /// The override that was removed, for Undo.
    pub removed: Option<Override>,
}

/// Saves one override in the draft. `base_revision` is the draft's revision that the form was loaded with. A blank form
/// stores nothing and returns `None`. `review` continues with the review of a publish of this override alone, for which a blank
/// form is rejected.
#[server(prefix = "/api/fn", endpoint = "override_save")]
pub async fn override_save(
    name: String,
    base_revision: i64,
    form: OverrideForm,
    #[server(default)] review: bool,
    #[server(default)] then: String,
) -> AppResult<Option<StoredOverride>> {
    use crate::workloads::wizard::{WizardStep, redirect_after};
    use crate::{errors::AppError, host, paths};
    let mut stored = None;
    if review || !form.is_blank() {
        let read = form.parse().map_err(|findings| host::with_status(AppError::Invalid(findings)))?;
        let content = domain::request::OverridePut {
            target: read.target,
            priority: read.priority,
            values: read.chart_values,
            patches: read.patches,
        };
        let change = hub::OverrideChange::Save { name: read.name, content };
        let saved = change_override(&name, base_revision, change).await?;
        if review {
            leptos_axum::redirect(&paths::publish_override(&name, &saved.name));
            return Ok(Some(saved));
        }
        stored = Some(saved);
    }
    redirect_after(&name, WizardStep::Overrides, &then);
    Ok(stored)
}

impl DraftForm for OverrideSave {
    fn part(&self) -> DraftPart {
        DraftPart::Override(self.form.resolved_name())
    }

    fn set_base_revision(&mut self, revision: i64) {
        self.base_revision = revision;
    }

    async fn save(self) -> AppResult<Option<SavedDraft>> {
        // An unfinished search is not stored while a person types.
        let form = OverrideForm { also: String::new(), ..self.form };
        let stored = override_save(self.name, self.base_revision, form, false, String::new()).await?;
        Ok(stored.map(|stored| SavedDraft { revision: stored.revision, saved_at: stored.saved_at }))
    }
}

/// Removes one override from the draft. `base_revision` is the draft's revision that the list was loaded with.
#[server(prefix = "/api/fn", endpoint = "override_remove")]
pub async fn override_remove(
    name: String,
    base_revision: i64,
    override_name: String,
) -> AppResult<StoredOverride> {
    // If there is none to remove, the change fails with the reason.
    let found = crate::host::hub()?.get_override(&name, &override_name).await;
    let stored =
        change_override(&name, base_revision, hub::OverrideChange::Remove { name: override_name }).await?;
    Ok(StoredOverride { removed: found.ok().map(|(_, removed)| removed), ..stored })
}

#[cfg(feature = "ssr")]
async fn change_override(
    workload: &str,
    base_revision: i64,
    change: hub::OverrideChange,
) -> AppResult<StoredOverride> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let name = change.name().to_owned();
    let stored =
        host::into_app_result(hub.change_override(&actor, workload, change, Some(base_revision)).await)?;
    let (workload, revision, saved_at) = (stored.name, stored.revision, hub.clock().now());
    Ok(StoredOverride { workload, revision, name, saved_at, removed: None })
}
