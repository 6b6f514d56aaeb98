//! Actions of the review: create a plan, publish it.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::content::ReviewContent;
use crate::errors::AppResult;
#[cfg(feature = "ssr")]
use crate::paths;

/// Plans a publish of the draft, of one override of it, or of an earlier revision. Returns the id of the plan; a plain
/// form post is redirected to its page.
#[server(prefix = "/api/fn", endpoint = "plan_create")]
pub async fn plan_create(name: String, #[server(default)] content: ReviewContent) -> AppResult<String> {
    use crate::host;
    let options = hub::PublishOptions { content: content.to_publish_content(), ..Default::default() };
    let plan = host::into_app_result(host::hub()?.create_plan(&host::actor()?, &name, &options).await)?;
    let id = plan.id.to_string();
    if host::is_plain_form_post() {
        leptos_axum::redirect(&content.review_path(&name, &id));
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
    /// What is published.
    pub content: ReviewContent,
}

/// Publishes as the form says, if a plan of it still has the reviewed hash.
#[server(prefix = "/api/fn", endpoint = "workload_publish")]
pub async fn workload_publish(form: PublishForm) -> AppResult<()> {
    use crate::errors::AppError;
    use crate::host;
    let invalid =
        |_| host::with_status(AppError::PlanStale("The hash of the plan is invalid. Plan again.".to_owned()));
    let PublishForm { name, message, plan, confirm, force, content } = form;
    let options = hub::PublishOptions {
        content: content.to_publish_content(),
        draft_revision: None,
        plan_hash: Some(plan.parse().map_err(invalid)?),
        confirmed_removals: confirm.trim().parse().ok(),
        force: force.split(',').map(str::trim).filter(|code| !code.is_empty()).map(str::to_owned).collect(),
        response: hub::PublishResponse::Publish,
    };
    let message: String = message.trim().chars().take(500).collect();
    host::into_app_result(host::hub()?.publish_workload(&host::actor()?, &name, &message, options).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}
