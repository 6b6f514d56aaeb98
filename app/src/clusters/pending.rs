//! Agents that asked to join and wait for a person, who compares keys.

use domain::Timestamp;
use domain::join::Registration;
use leptos::prelude::*;

use crate::components::{Age, Said, icon};
use crate::errors::Answer;

/// Those that wait, oldest first.
#[cfg(feature = "ssr")]
pub async fn waiting(hub: &hub::Hub) -> Answer<Vec<Registration>> {
    use domain::join::RegistrationState;
    let mut all = crate::host::answer(hub.registration_list().await)?;
    all.retain(|one| one.state == RegistrationState::Pending);
    Ok(all)
}

/// Lets in the agent with this key, and no other that may have come meanwhile.
#[server(prefix = "/api/fn", endpoint = "cluster_accept")]
pub async fn cluster_accept(name: String, fingerprint: String) -> Answer<()> {
    use crate::{host, paths};
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::answer(hub.cluster_accept(&actor, &name, Some(&fingerprint)).await)?;
    leptos_axum::redirect(paths::CLUSTERS);
    Ok(())
}

/// Refuses the agent that waits under this name.
#[server(prefix = "/api/fn", endpoint = "cluster_reject")]
pub async fn cluster_reject(name: String) -> Answer<()> {
    use crate::{host, paths};
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::answer(hub.cluster_reject(&actor, &name).await)?;
    leptos_axum::redirect(paths::CLUSTERS);
    Ok(())
}

/// The two actions of the list.
#[derive(Clone, Copy)]
pub struct Verdicts {
    /// Lets in.
    pub accept: ServerAction<ClusterAccept>,
    /// Refuses.
    pub reject: ServerAction<ClusterReject>,
}

impl Verdicts {
    /// Actions that nobody has used yet.
    pub fn new() -> Self {
        Self { accept: ServerAction::new(), reject: ServerAction::new() }
    }

    /// How often they were used: the list is read again then.
    pub fn version(self) -> usize {
        self.accept.version().get() + self.reject.version().get()
    }
}

/// The list; nothing while nobody waits.
#[component]
pub fn Pending(waiting: Vec<Registration>, verdicts: Verdicts, at: Timestamp) -> impl IntoView {
    let Verdicts { accept, reject } = verdicts;
    let said = move || {
        let failed =
            accept.value().get().and_then(Result::err).or_else(|| reject.value().get().and_then(Result::err));
        failed.map(|error| view! { <Said error=error /> })
    };
    let row = move |one: Registration| {
        let (name, refused, fingerprint) = (one.name.clone(), one.name.clone(), one.fingerprint.clone());
        let (to_accept, to_reject) = (format!("Accept {}", one.name), format!("Reject {}", one.name));
        view! {
            <tr>
                <th scope="row" class="cell-name name">
                    {one.name.clone()}
                </th>
                <td class="mono break-all" data-label="Key">
                    {one.fingerprint.clone()}
                </td>
                <td data-label=(!one.facts.kubernetes_version.is_empty()).then_some("Kubernetes") class="mono">
                    {one.facts.kubernetes_version.clone()}
                </td>
                <td data-label="Asks since">
                    <Age since=one.since at=at />
                </td>
                <td class="right cell-state">
                    <div class="flex justify-end gap-2">
                        <ActionForm action=accept>
                            <input type="hidden" name="name" value=name.clone() />
                            <input type="hidden" name="fingerprint" value=fingerprint.clone() />
                            <button class="btn btn-sm btn-primary" type="submit" aria-label=to_accept>
                                {icon("check")}
                                "Accept"
                            </button>
                        </ActionForm>
                        <ActionForm action=reject>
                            <input type="hidden" name="name" value=refused.clone() />
                            <button class="btn btn-sm btn-danger" type="submit" aria-label=to_reject>
                                "Reject"
                            </button>
                        </ActionForm>
                    </div>
                </td>
            </tr>
        }
    };
    let list = (!waiting.is_empty()).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="pending">
                <h2 class="section" id="pending">
                    "Ask to join "
                    <span class="meta font-normal">"accept one only if its agent logs the same key"</span>
                </h2>
                <table class="table">
                    <thead>
                        <tr>
                            <th scope="col">"Cluster"</th>
                            <th scope="col">"Key"</th>
                            <th scope="col">"Kubernetes"</th>
                            <th scope="col">"Asks since"</th>
                            <th scope="col" class="right"><span class="sr-only">"What can be done"</span></th>
                        </tr>
                    </thead>
                    <tbody>{waiting.into_iter().map(row).collect_view()}</tbody>
                </table>
            </section>
        }
    });
    view! {
        {said}
        {list}
    }
    .into_any()
}
