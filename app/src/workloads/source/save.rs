//! Saves the files of a draft, for the step of the wizard and for its autosave.

use std::collections::BTreeMap;

use domain::workload::{Source, SourceFile};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;
use crate::workloads::autosave::SavedDraft;
use crate::workloads::chart::draft::ChartForm;
use crate::workloads::draft_form::DraftForm;
use crate::workloads::draft_part::DraftPart;
use crate::workloads::git::fields::GitForm;

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
    /// Without script, the texts that the fields of the form were rendered from.
    pub rendered: Vec<String>,
    /// Without script, the fields of the form by kind, location and path.
    pub inputs: BTreeMap<String, String>,
    /// The chart; not set for other sources.
    pub chart: ChartForm,
    /// The Git repository; not set for other sources.
    pub git: GitForm,
}

/// Saves the files of the draft. `then` selects where the wizard goes next.
#[server(prefix = "/api/fn", endpoint = "source_save")]
pub async fn source_save(form: SourceForm, #[server(default)] then: String) -> AppResult<SavedDraft> {
    use domain::authorization::UserAction;

    use super::form::apply_inputs;
    use super::limits::create_source;
    use crate::host;
    use crate::workloads::wizard::{WizardStep, redirect_after};
    let (hub, actor) = (host::hub()?, host::actor()?);
    // Before the fields are entered, which takes longer than what follows.
    host::into_app_result(actor.authorize(UserAction::Edit))?;
    let files = apply_inputs(form.files, &form.rendered, &form.inputs).map_err(host::with_status)?;
    let source = create_source(files, &form.chart, &form.git).map_err(host::with_status)?;
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

impl DraftForm for SourceForm {
    fn part(&self) -> DraftPart {
        DraftPart::Source
    }

    fn set_base_revision(&mut self, revision: i64) {
        self.base_revision = revision;
    }

    async fn save(self) -> AppResult<Option<SavedDraft>> {
        source_save(self, String::new()).await.map(Some)
    }
}

/// The source with the fields that were typed. It has the commit of the stored one, which is no field.
pub fn build_typed_source(
    stored: &Source,
    files: Vec<SourceFile>,
    chart: &ChartForm,
    git: &GitForm,
) -> Source {
    if git.is_git {
        let mut remote = git.to_source();
        remote.pinned = stored.remote().and_then(|stored| stored.pinned.clone());
        return Source::from(remote);
    }
    if chart.is_chart {
        return Source::Chart(chart.to_source());
    }
    let with_line_ends = |file: SourceFile| SourceFile { text: file.text.replace("\r\n", "\n"), ..file };
    Source::Yaml { files: files.into_iter().map(with_line_ends).collect() }
}
