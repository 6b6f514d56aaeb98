//! Actions of the review: create a plan, publish it.

use leptos::prelude::*;

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

/// Publishes the draft, or the override `override_name` of the draft alone, as a revision, if a plan of it still has the hash
/// `plan`. `confirm` is the typed number of clusters that lose the workload.
#[server(prefix = "/api/fn", endpoint = "workload_publish")]
pub async fn workload_publish(
    name: String,
    message: String,
    plan: String,
    #[server(default)] confirm: String,
    #[server(default)] override_name: String,
) -> AppResult<()> {
    use crate::errors::AppError;
    use crate::host;
    let invalid =
        |_| host::with_status(AppError::PlanStale("The hash of the plan is invalid. Plan again.".to_owned()));
    let terms = hub::PublishOptions {
        content: publish_content(override_name),
        draft_revision: None,
        plan_hash: Some(plan.parse().map_err(invalid)?),
        confirmed_removals: confirm.trim().parse().ok(),
    };
    let message: String = message.trim().chars().take(500).collect();
    host::into_app_result(host::hub()?.publish_workload(&host::actor()?, &name, &message, terms).await)?;
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
