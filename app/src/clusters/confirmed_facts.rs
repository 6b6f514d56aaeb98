//! Reported facts of a cluster that wait for confirmation.

use domain::authorization::UserAction;
use domain::cluster::{ConfirmedFacts, PendingFact};
use leptos::prelude::*;

use crate::components::{ErrorBanner, icon};
use crate::errors::AppResult;
use crate::permission::Permission;

/// Confirms these facts (`ConfirmedFacts` as JSON, as the page showed them); rejected if the cluster reports others by now.
#[server(prefix = "/api/fn", endpoint = "cluster_confirm_facts")]
pub async fn cluster_confirm_facts(name: String, base_revision: i64, facts: String) -> AppResult<()> {
    use crate::errors::AppError;
    use crate::{host, paths};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let facts: ConfirmedFacts = serde_json::from_str(&facts).map_err(|error| {
        let message = format!("The facts to confirm can't be read: {error}.");
        let finding = domain::Finding::error("Facts", message, "Reload the page and confirm them again.");
        host::with_status(AppError::from_finding(finding))
    })?;
    host::into_app_result(hub.confirm_cluster_facts(&actor, &name, facts, Some(base_revision)).await)?;
    leptos_axum::redirect(&paths::cluster(&name));
    Ok(())
}

/// What is shown and confirmed.
#[derive(Debug, Clone, PartialEq)]
pub struct FactsToConfirm {
    /// Name of the cluster.
    pub cluster: String,
    /// The revision of the cluster that the page was rendered from.
    pub revision: i64,
    /// The differences.
    pub pending: Vec<PendingFact>,
    /// All reported facts.
    pub reported: ConfirmedFacts,
}

/// The differences with a button; nothing if there are none.
#[component]
pub fn PendingFacts(facts: FactsToConfirm, action: ServerAction<ClusterConfirmFacts>) -> impl IntoView {
    let FactsToConfirm { cluster, revision, pending, reported } = facts;
    let is_routine = pending.iter().all(|one| one.routine);
    let is_empty = pending.is_empty();
    let row = |one: PendingFact| {
        view! {
            <tr>
                <th scope="row">{one.fact.as_str()}</th>
                <td data-label="Confirmed">{one.confirmed_text().to_owned()}</td>
                <td data-label="Reported">{one.reported_text().to_owned()}</td>
            </tr>
        }
    };
    let explanation = if is_routine {
        "Placement uses the confirmed facts. Confirm the reported ones when a placement has to select by them."
    } else {
        "Placement uses the confirmed facts. The agent reports others: confirm them only if they are right, because \
         workloads may then be placed on this cluster."
    };
    let reported = serde_json::to_string(&reported).unwrap_or_default();
    (!is_empty).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="pending-facts">
                <h2 class="section" id="pending-facts">
                    "Facts to confirm"
                </h2>
                {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Fact"</th>
                            <th scope="col">"Confirmed"</th>
                            <th scope="col">"Reported"</th>
                        </tr>
                    </thead>
                    <tbody>{pending.into_iter().map(row).collect_view()}</tbody>
                </table>
                <p class="meta">{explanation}</p>
                <ActionForm action=action>
                    <Permission action=UserAction::JoinCluster>
                        <input type="hidden" name="name" value=cluster />
                        <input type="hidden" name="base_revision" value=revision.to_string() />
                        <input type="hidden" name="facts" value=reported />
                        <button class="btn" type="submit">
                            {icon("check")}
                            "Confirm facts"
                        </button>
                    </Permission>
                </ActionForm>
            </section>
        }
        .into_any()
    })
}
