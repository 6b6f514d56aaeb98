//! Agents that requested to join and wait for a user, who compares keys.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::cluster::ClusterFacts;
use domain::join::Registration;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{Age, ConfirmDialog, ErrorBanner, icon};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;

/// The pending registrations, oldest first.
#[cfg(feature = "ssr")]
pub async fn list_pending(hub: &hub::Hub) -> AppResult<Vec<Registration>> {
    use domain::join::RegistrationState;
    let mut all = crate::host::into_app_result(hub.list_registrations().await)?;
    all.retain(|one| one.state == RegistrationState::Pending);
    Ok(all)
}

/// Accepts the agent with this key; rejected if the pending registration has another key by now. Then leads to the page
/// `back`, or to the clusters.
#[server(prefix = "/api/fn", endpoint = "cluster_accept")]
pub async fn cluster_accept(
    name: String,
    fingerprint: String,
    #[server(default)] back: String,
) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::into_app_result(hub.accept_cluster(&actor, &name, Some(&fingerprint)).await)?;
    leptos_axum::redirect(page_after(&back));
    Ok(())
}

/// Rejects the pending registration with this name. Then leads to the page `back`, or to the clusters.
#[server(prefix = "/api/fn", endpoint = "cluster_reject")]
pub async fn cluster_reject(name: String, #[server(default)] back: String) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::into_app_result(hub.reject_cluster(&actor, &name).await)?;
    leptos_axum::redirect(page_after(&back));
    Ok(())
}

/// The page after a decision.
#[cfg(feature = "ssr")]
fn page_after(back: &str) -> &str {
    if back.is_empty() { crate::paths::CLUSTERS } else { crate::host::sanitize_next(back) }
}

/// The two actions of the list.
#[derive(Clone, Copy)]
pub struct RegistrationActions {
    /// Accepts.
    pub accept: ServerAction<ClusterAccept>,
    /// Rejects.
    pub reject: ServerAction<ClusterReject>,
}

impl RegistrationActions {
    /// Creates both actions.
    pub fn new() -> Self {
        Self { accept: ServerAction::new(), reject: ServerAction::new() }
    }

    /// Grows with every use of an action, so that the list is read again.
    pub fn version(self) -> usize {
        self.accept.version().get() + self.reject.version().get()
    }
}

/// Provider, region and zones, which placements select by once the registration is accepted.
fn location_cell(facts: &ClusterFacts) -> impl IntoView + use<> {
    let parts = [&facts.provider, &facts.region].into_iter().chain(&facts.zones);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).map(String::as_str).collect();
    view! { <td data-label=(!parts.is_empty()).then_some("Location")>{parts.join(", ")}</td> }
}

/// Accepts or rejects a registration.
fn decision_forms(one: &Registration, accept: ServerAction<ClusterAccept>) -> impl IntoView + use<> {
    let (name, fingerprint) = (one.name.clone(), one.fingerprint.clone());
    let to_accept = format!("Accept {}", one.name);
    view! {
        <div class="flex justify-end gap-2">
            <ActionForm action=accept>
                <Permission action=UserAction::JoinCluster>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="fingerprint" value=fingerprint />
                    <button class="btn btn-sm" type="submit" aria-label=to_accept>
                        {icon("check")}
                        "Accept"
                    </button>
                </Permission>
            </ActionForm>
            {rejection_link(paths::CLUSTERS, &one.name)}
        </div>
    }
}

/// Opens the question of [`RegistrationDialog`] on the page `back`.
pub fn rejection_link(back: &str, name: &str) -> impl IntoView + use<> {
    // The visible text is part of the name that screen readers announce.
    let label = format!("Reject… {name}");
    let href = paths::rejection_dialog(back, name);
    view! {
        <a class="btn btn-sm btn-danger" href=href aria-label=label>
            "Reject…"
        </a>
    }
}

/// The question before the agent that the address names is rejected.
#[component]
pub fn RegistrationDialog(
    action: ServerAction<ClusterReject>,
    /// The page without the question.
    back: Signal<String>,
) -> impl IntoView {
    let query = use_query_map();
    let name = Memo::new(move |_| query.read().get("reject").unwrap_or_default());
    move || {
        let name = name.get();
        (!name.is_empty()).then(|| show_question(name, back.get_untracked(), action))
    }
}

fn show_question(name: String, back: String, action: ServerAction<ClusterReject>) -> AnyView {
    view! {
        <ConfirmDialog title=format!("Reject the agent that waits to join as {name}?") back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::JoinCluster>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="back" value=back.clone() />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>"Its key gets no certificate, and a rejection can't be undone. Nothing on the cluster is changed."</p>
                        <p>"Its use of the join token is spent: to join this cluster later, generate new manifests and apply them."</p>
                    </div>
                    {dialog_buttons(back, "Reject", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// The list; renders nothing while no registration is pending.
#[component]
pub fn PendingRegistrations(
    waiting: Vec<Registration>,
    accept: ServerAction<ClusterAccept>,
    at: Timestamp,
) -> impl IntoView {
    let failure = move || {
        let failed = accept.value().get().and_then(Result::err);
        failed.map(|error| view! { <ErrorBanner error=error /> })
    };
    let row = move |one: Registration| {
        view! {
            <tr>
                <th scope="row" class="cell-name name">
                    <a href=paths::join_cluster(&one.name)>{one.name.clone()}</a>
                </th>
                <td class="mono break-all" data-label="Key">
                    {one.fingerprint.clone()}
                </td>
                <td data-label=(!one.facts.kubernetes_version.is_empty()).then_some("Kubernetes") class="mono">
                    {one.facts.kubernetes_version.clone()}
                </td>
                {location_cell(&one.facts)}
                <td data-label="Waiting since">
                    <Age since=one.requested_at at=at />
                </td>
                <td class="right cell-state">
                    {decision_forms(&one, accept)}
                </td>
            </tr>
        }
    };
    let list = (!waiting.is_empty()).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="pending">
                <h2 class="section" id="pending">
                    "Waiting for approval "
                    <span class="meta font-normal">"accept one only if its agent logs the same key and these facts are right"</span>
                </h2>
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Cluster"</th>
                            <th scope="col">"Key"</th>
                            <th scope="col">"Kubernetes"</th>
                            <th scope="col">"Location"</th>
                            <th scope="col">"Waiting since"</th>
                            <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                        </tr>
                    </thead>
                    <tbody>{waiting.into_iter().map(row).collect_view()}</tbody>
                </table>
            </section>
        }
    });
    view! {
        {failure}
        {list}
    }
    .into_any()
}
