//! What the review asks the server to do: plan, and publish what was planned.

use leptos::prelude::*;

use crate::errors::Answer;
#[cfg(feature = "ssr")]
use crate::paths;

/// Plans a publish of the draft; gives the plan's id. A plain form post is led to the page that shows it.
#[server(prefix = "/api/fn", endpoint = "plan_make")]
pub async fn plan_make(name: String) -> Answer<String> {
    use crate::host;
    let plan = host::answer(host::hub()?.plan_make(&host::actor()?, &name).await)?;
    let id = plan.id.to_string();
    if host::is_plain_form_post() {
        leptos_axum::redirect(&paths::planned(&name, &id));
    }
    Ok(id)
}

/// Freezes the draft as a revision and lets it go out, if it is still what the plan with this hash showed. `confirm` is
/// what the person typed into the box about clusters that lose it.
#[server(prefix = "/api/fn", endpoint = "workload_publish")]
pub async fn workload_publish(
    name: String,
    message: String,
    plan: String,
    #[server(default)] confirm: String,
) -> Answer<()> {
    use crate::errors::AppError;
    use crate::host;
    let unreadable = |_| host::refused(AppError::PlanStale("The plan can't be read. Plan again.".to_owned()));
    let terms = hub::Terms {
        seen: None,
        plan: Some(plan.parse().map_err(unreadable)?),
        confirm: confirm.trim().parse().ok(),
    };
    let message: String = message.trim().chars().take(500).collect();
    host::answer(host::hub()?.workload_publish(&host::actor()?, &name, &message, terms).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}
