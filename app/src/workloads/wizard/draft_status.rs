//! The status of a draft, for the frame of the wizard.

use domain::Finding;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::step::WizardStep;
use crate::errors::AppResult;

/// The status of a draft.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DraftStatus {
    /// Namespace for objects that name none.
    pub namespace: String,
    /// Number of the published revision.
    pub published: Option<u32>,
    /// Whether it can be edited now.
    pub editable: bool,
    /// The steps that nobody has filled in yet: what is missing there is no mistake.
    pub empty_steps: Vec<WizardStep>,
    /// Findings of the guard rails about the whole draft.
    pub findings: Vec<Finding>,
}

impl DraftStatus {
    /// The findings that are fixed in a step; all for the review.
    pub fn findings_of_step(&self, step: WizardStep) -> Vec<Finding> {
        let here =
            |finding: &&Finding| step == WizardStep::Review || WizardStep::from_finding(finding) == step;
        self.findings.iter().filter(here).cloned().collect()
    }

    /// The same without those of steps that nobody has filled in.
    pub fn findings_of_filled_steps(&self, step: WizardStep) -> Vec<Finding> {
        let mut findings = self.findings_of_step(step);
        findings.retain(|finding| !self.empty_steps.contains(&WizardStep::from_finding(finding)));
        findings
    }
}

/// The steps of a draft that nobody has filled in. A revision has no such step.
#[cfg(feature = "ssr")]
fn list_empty_steps(workload: &domain::workload::Workload) -> Vec<WizardStep> {
    if workload.published.is_some() {
        return Vec::new();
    }
    let source = is_new_draft(workload).then_some(WizardStep::Source);
    let placement = workload.draft.placement == domain::placement::Placement::default();
    source.into_iter().chain(placement.then_some(WizardStep::Placement)).collect()
}

/// Whether a draft was created and not edited since.
pub fn is_new_draft(workload: &domain::workload::Workload) -> bool {
    workload.published.is_none() && workload.revision == 1
}

/// Reads the status of the stored draft. The default if the workload does not exist: the page of the step reports that.
#[server(prefix = "/api/fn", endpoint = "draft_status_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn draft_status_read(name: String) -> AppResult<DraftStatus> {
    use crate::host;
    if name.is_empty() {
        return Ok(DraftStatus::default());
    }
    let (hub, actor) = (host::hub()?, host::actor()?);
    let (workload, checked) = match hub.check_content(&actor, &name, &hub::PublishContent::Draft).await {
        Ok(found) => (found.view.workload, found.checked),
        Err(hub::Error::NotFound { .. }) => return Ok(DraftStatus::default()),
        Err(error) => return host::into_app_result(Err(error)),
    };
    Ok(DraftStatus {
        namespace: workload.draft.namespace.clone(),
        published: workload.published,
        editable: domain::actions::check_edit(&workload).is_ok(),
        empty_steps: list_empty_steps(&workload),
        findings: checked.findings,
    })
}
