//! Actions of the review: create a plan, publish it.

use leptos::prelude::*;

use crate::errors::AppResult;
#[cfg(feature = "ssr")]
use crate::paths;

/// Plans a publish of the draft. Returns the id of the plan; a plain form post is redirected to its page.
#[server(prefix = "/api/fn", endpoint = "plan_create")]
pub async fn plan_create(name: String) -> AppResult<String> {
    use crate::host;
    let plan = host::into_app_result(host::hub()?.create_plan(&host::actor()?, &name).await)?;
    let id = plan.id.to_string();
    if host::is_plain_form_post() {
        leptos_axum::redirect(&paths::review_of_plan(&name, &id));
    }
    Ok(id)
}

/// Publishes the draft as a revision, if a plan of it still has the hash `plan`. `confirm` is the typed number of clusters that
/// lose the workload, `force` the codes with which clusters rejected the plan, separated by commas.
#[server(prefix = "/api/fn", endpoint = "workload_publish")]
pub async fn workload_publish(
    name: String,
    message: String,
    plan: String,
    #[server(default)] confirm: String,
    #[server(default)] force: String,
) -> AppResult<()> {
    use crate::errors::AppError;
    use crate::host;
    let invalid =
        |_| host::with_status(AppError::PlanStale("The hash of the plan is invalid. Plan again.".to_owned()));
    let terms = hub::PublishOptions {
        draft_revision: None,
        plan_hash: Some(plan.parse().map_err(invalid)?),
        confirmed_removals: confirm.trim().parse().ok(),
        force: force.split(',').map(str::trim).filter(|code| !code.is_empty()).map(str::to_owned).collect(),
    };
    let message: String = message.trim().chars().take(500).collect();
    host::into_app_result(host::hub()?.publish_workload(&host::actor()?, &name, &message, terms).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}
