//! Actions of the review: create a plan, publish it.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::AppResult;
#[cfg(feature = "ssr")]
use crate::paths;

/// Plans a publish of the draft, or of the override `override_name` of the draft alone. Returns the id of the plan; a plain
/// form post is redirected to its page.
#[server(prefix = "/api/fn", endpoint = "plan_create")]
pub async fn plan_create(name: String, #[server(default)] override_name: String) -> AppResult<String> {
    use crate::host;
    let options =
        hub::PublishOptions { content: publish_content(override_name.clone()), ..Default::default() };
    let plan = host::into_app_result(host::hub()?.create_plan(&host::actor()?, &name, &options).await)?;
    let id = plan.id.to_string();
    if host::is_plain_form_post() {
        leptos_axum::redirect(&paths::review_of_plan(&name, &id, &override_name));
    }
    Ok(id)
}

/// The form of a publish, as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishForm {
    /// The workload.
    pub name: String,
    /// What the user writes about it.
    pub message: String,
    /// The hash of the reviewed plan.
    pub plan: String,
    /// The typed number of clusters that lose the workload.
    pub confirm: String,
    /// The codes with which clusters rejected the plan, separated by commas.
    pub force: String,
    /// The override of the draft that is published alone; empty for the whole draft.
    pub override_name: String,
}

/// Publishes as the form says, if a plan of it still has the reviewed hash.
#[server(prefix = "/api/fn", endpoint = "workload_publish")]
pub async fn workload_publish(form: PublishForm) -> AppResult<()> {
    use crate::errors::AppError;
    use crate::host;
    let invalid =
        |_| host::with_status(AppError::PlanStale("The hash of the plan is invalid. Plan again.".to_owned()));
    let PublishForm { name, message, plan, confirm, force, override_name } = form;
    let options = hub::PublishOptions {
        content: publish_content(override_name),
        draft_revision: None,
        plan_hash: Some(plan.parse().map_err(invalid)?),
        confirmed_removals: confirm.trim().parse().ok(),
        force: force.split(',').map(str::trim).filter(|code| !code.is_empty()).map(str::to_owned).collect(),
    };
    let message: String = message.trim().chars().take(500).collect();
    host::into_app_result(host::hub()?.publish_workload(&host::actor()?, &name, &message, options).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// The override of this name alone or, without a name, the draft.
#[cfg(feature = "ssr")]
pub fn publish_content(override_name: String) -> hub::PublishContent {
    match override_name.is_empty() {
        true => hub::PublishContent::Draft,
        false => hub::PublishContent::DraftOverride(override_name),
    }
}
