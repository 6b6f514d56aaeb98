//! The owners of a cluster, who are notified of the incidents on it (S0-13).

use domain::authorization::UserAction;
use leptos::prelude::*;

use crate::components::error::action_error;
use crate::errors::AppResult;
use crate::permission::Permission;

/// Replaces the owners of a cluster by those in a list with commas; an empty one removes them.
#[server(prefix = "/api/fn", endpoint = "cluster_set_owners")]
pub async fn cluster_set_owners(
    name: String,
    base_revision: i64,
    #[server(default)] owners: String,
) -> AppResult<()> {
    use crate::{host, paths};
    use domain::request::ClusterPatch;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let owners = owners.split(',').map(str::to_owned).collect();
    let edit = ClusterPatch { owners: Some(owners), ..ClusterPatch::default() };
    host::into_app_result(hub.edit_cluster(&actor, &name, edit, Some(base_revision)).await)?;
    leptos_axum::redirect(&paths::cluster(&name));
    Ok(())
}

/// The owners, with the form that replaces them.
#[component]
pub fn ClusterOwners(
    name: String,
    owners: Vec<String>,
    /// The revision of the cluster that the page was rendered from.
    revision: i64,
    action: ServerAction<ClusterSetOwners>,
) -> impl IntoView {
    let owners = owners.join(", ");
    let shown = if owners.is_empty() {
        view! { <p class="text-3">"No owners."</p> }.into_any()
    } else {
        view! { <p>{owners.clone()}</p> }.into_any()
    };
    view! {
        <section class="stack-sm" aria-labelledby="owners">
            <h2 class="section" id="owners">
                "Owners"
            </h2>
            {action_error(action.value())}
            {shown}
            <details class="fold">
                <summary>"Change the owners"</summary>
                <p class="meta pt-2">"Subscriptions of an owner get the incidents on this cluster."</p>
                <ActionForm action=action attr:class="flex flex-wrap gap-2 pt-2 pb-4">
                    <Permission action=UserAction::EditCluster>
                        <input type="hidden" name="name" value=name />
                        <input type="hidden" name="base_revision" value=revision.to_string() />
                        <input
                            class="input max-w-md"
                            name="owners"
                            value=owners
                            placeholder="team-edge, ops@example.com"
                            aria-label="Owners of the cluster, with commas between them"
                            maxlength="2500"
                            autocomplete="off"
                            autocapitalize="off"
                            spellcheck="false"
                        />
                        <button class="btn" type="submit">
                            "Save the owners"
                        </button>
                    </Permission>
                </ActionForm>
            </details>
        </section>
    }
    .into_any()
}
