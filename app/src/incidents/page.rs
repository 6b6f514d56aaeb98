//! One incident: its cause, what to do, what changed before, its clusters, and what was sent about it.

use domain::authorization::UserAction;
use domain::incident::{IncidentCluster, IncidentKind, IncidentState, IncidentSummary, PrecedingChange};
use domain::notification::IncidentDetails;
use domain::{IncidentId, Timestamp};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;
use serde::{Deserialize, Serialize};

use super::deliveries::Deliveries;
use super::state_style;
use crate::components::error::action_error;
use crate::components::{Age, icon, render_resource};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths::{self, WorkloadTab};
use crate::permission::{Permission, PermittedLink};
use crate::resource::create_resource;

/// One incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentData {
    /// The incident.
    pub details: IncidentDetails,
    /// The revision that a rollback deploys again, while the incident is open; `None` if none was healthy.
    pub healthy_revision: Option<u32>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "incident_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn incident_read(id: String) -> AppResult<IncidentData> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let id = host::into_app_result(parse_id(&id))?;
    let details = host::into_app_result(hub.get_incident(id).await)?;
    let healthy_revision = find_rollback_revision(&hub, &details.incident).await;
    Ok(IncidentData { details, healthy_revision, at: hub.clock().now() })
}

/// The revision to roll back to. A workload that is deleted or not published has none, and a rollback ends neither drift nor a blocked
/// source. If it can't be read, the page has no link to it: the incident is to be seen all the same.
#[cfg(feature = "ssr")]
async fn find_rollback_revision(hub: &hub::Hub, incident: &IncidentSummary) -> Option<u32> {
    use domain::workload::Intent;
    let may_help = matches!(
        incident.kind,
        IncidentKind::Failure | IncidentKind::Rollout | IncidentKind::Rollback | IncidentKind::Silence
    );
    if incident.state == IncidentState::Closed || !may_help {
        return None;
    }
    match hub.get_workload_details(&incident.workload).await {
        Ok(details) => {
            let is_published = details.view.workload.intent == Intent::Published;
            details.healthy_revision.filter(|_| is_published)
        }
        Err(hub::Error::NotFound { .. }) => None,
        Err(error) => {
            leptos::logging::error!(
                "the revision for a rollback of {} could not be read: {error}",
                incident.workload
            );
            None
        }
    }
}

/// Records that the user works on an incident.
#[server(prefix = "/api/fn", endpoint = "incident_acknowledge")]
pub async fn incident_acknowledge(id: String) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let incident = host::into_app_result(parse_id(&id))?;
    host::into_app_result(hub.acknowledge_incident(&actor, incident).await)?;
    leptos_axum::redirect(&paths::incident(&id));
    Ok(())
}

#[cfg(feature = "ssr")]
fn parse_id(text: &str) -> Result<IncidentId, hub::Error> {
    let shown = text.chars().take(80).collect::<String>();
    text.parse().map_err(|_| hub::Error::NotFound { what: "incident".into(), name: shown })
}

/// The page.
#[component]
pub fn IncidentPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.read().get("id").unwrap_or_default());
    let acknowledge = ServerAction::<IncidentAcknowledge>::new();
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (id.get(), acknowledge.version().get(), version.get()),
        |(id, ..)| incident_read(id),
    );
    view! { {render_resource(data, move |data| show_incident(data, acknowledge))} }.into_any()
}

fn show_incident(data: IncidentData, acknowledge: ServerAction<IncidentAcknowledge>) -> AnyView {
    let IncidentData { details, healthy_revision, at } = data;
    let IncidentDetails { incident, owners, deliveries, skipped_subscriptions } = details;
    let headline = incident.headline();
    let preceding = incident.preceding_change.clone();
    let clusters = incident.cluster_details.clone();
    let workload = incident.workload.clone();
    let table = incident.has_clusters().then(|| cluster_table(&workload, incident.kind, clusters, at));
    view! {
        <Title text=headline.clone() />
        <div class="stack">
            <div class="stack-md">
                <div class="head">
                    <h1 class="title">{headline}</h1>
                    <div class="head-actions">
                        {healthy_revision.map(|number| roll_back_link(&incident.workload, number))}
                        {acknowledgement(&incident, at, acknowledge)}
                    </div>
                </div>
                {action_error(acknowledge.value())}
                {cause_facts(&incident, &owners, at)}
                {(!incident.hint.is_empty())
                    .then(|| view! { <div class="warn-box hue-drifted"><p><b>"What to do: "</b> {incident.hint.clone()}</p></div> })}
            </div>
            {preceding.map(|change| preceding_change(&workload, change, at))}
            {table}
            <Deliveries deliveries=deliveries skipped=skipped_subscriptions at=at />
        </div>
    }
    .into_any()
}

fn roll_back_link(workload: &str, number: u32) -> AnyView {
    view! {
        <PermittedLink
            action=UserAction::Publish
            class="btn"
            href=paths::roll_back(workload, number)
            label=format!("Roll back to r{number}…")
        />
    }
    .into_any()
}

/// Who works on it, or the button to do so.
fn acknowledgement(
    incident: &IncidentSummary,
    at: Timestamp,
    action: ServerAction<IncidentAcknowledge>,
) -> AnyView {
    if let Some(by) = incident.acknowledged_by.clone() {
        let since =
            incident.acknowledged_at.map(|since| view! { " " <Age since=since at=at suffix=" ago" /> });
        return view! { <p class="meta">"Acknowledged by " <b>{by}</b> {since}</p> }.into_any();
    }
    if incident.state == IncidentState::Closed {
        return ().into_any();
    }
    let id: IncidentId = incident.id;
    view! {
        <ActionForm action=action>
            <Permission action=UserAction::AcknowledgeIncident>
                <input type="hidden" name="id" value=id.to_string() />
                <button class="btn btn-primary" type="submit">
                    {icon("check")}
                    "Acknowledge"
                </button>
            </Permission>
        </ActionForm>
    }
    .into_any()
}

fn cause_facts(incident: &IncidentSummary, owners: &[String], at: Timestamp) -> AnyView {
    let state = state_style(incident.state).with_label(incident.state.label());
    let fact = |name: &'static str, value: String, is_name: bool| {
        let class = if is_name { "name" } else { "" };
        (!value.is_empty()).then(|| view! { <div><dt>{name}</dt><dd class=class>{value}</dd></div> })
    };
    let time = match incident.closed_at {
        Some(closed) => view! { <Age since=closed at=at suffix=" ago" /> }.into_any(),
        None => view! { "for " <Age since=incident.since at=at /> }.into_any(),
    };
    view! {
        <p class="strong">{incident.cause.clone()}</p>
        <dl class="facts">
            <div>
                <dt>"State"</dt>
                <dd>{state} " " {time}</dd>
            </div>
            <div>
                <dt>"Workload"</dt>
                <dd><a class="ref name" href=paths::workload(&incident.workload)>{incident.workload.clone()}</a></dd>
            </div>
            {fact("Kind", incident.kind.label().to_owned(), false)}
            <div>
                <dt>"Changed on clusters"</dt>
                <dd><a class="ref" href=paths::drift_of(&incident.workload, "")>"Drift inbox"</a></dd>
            </div>
            {fact("Reason", incident.reason.clone(), true)}
            {fact("Object", incident.object.clone(), true)}
            {fact("Container", incident.container.clone(), true)}
            {fact("Pod", incident.pod.clone(), true)}
            {fact("Owners", owners.join(", "), false)}
        </dl>
    }
    .into_any()
}

/// What changed last before it, with the link to it.
fn preceding_change(workload: &str, change: PrecedingChange, at: Timestamp) -> AnyView {
    let link = match (change.revision, change.cluster.as_str()) {
        (Some(number), _) => Some((format!("r{number}"), paths::revision(workload, number))),
        (None, "") => None,
        (None, cluster) => Some((cluster.to_owned(), paths::cluster(cluster))),
    };
    let history = change
        .revision
        .filter(|number| *number > 1)
        .map(|_| paths::workload_tab(workload, WorkloadTab::History));
    view! {
        <section class="stack-sm" aria-labelledby="change">
            <h2 class="section" id="change">"Change before"</h2>
            <p>
                {change.message}
                " "
                {link.map(|(text, href)| view! { <a class="ref name" href=href>{text}</a> })}
            </p>
            <p class="meta">{change.actor} ", " <Age since=change.at at=at suffix=" ago" /></p>
            {history.map(|href| view! { <p><a class="link" href=href>"Open the history"</a></p> })}
        </section>
    }
    .into_any()
}

fn cluster_table(
    workload: &str,
    kind: IncidentKind,
    clusters: Vec<IncidentCluster>,
    at: Timestamp,
) -> AnyView {
    let is_failure = kind == IncidentKind::Failure;
    let (column, present) = if is_failure { ("Failed", "Fails") } else { ("Drifted", "Drifts") };
    let row = |cluster: IncidentCluster| {
        let state = match cluster.recovered_at {
            Some(recovered) => view! {
                <span class="state state-quiet hue-healthy">{icon("healthy")} "Recovered"</span>
                " "
                <Age since=recovered at=at suffix=" ago" />
            }
            .into_any(),
            None => view! {
                <span class="state state-broken hue-degraded">{icon("degraded")} {present}</span>
            }
            .into_any(),
        };
        view! {
            <tr>
                <th scope="row" class="cell-name name">
                    <a class="ref" href=paths::release(workload, &cluster.name)>{cluster.name.clone()}</a>
                </th>
                <td data-label="Since"><Age since=cluster.since at=at suffix=" ago" /></td>
                <td class="cell-state">{state}</td>
            </tr>
        }
    };
    view! {
        <section class="stack-sm" aria-labelledby="clusters">
            <h2 class="section" id="clusters">"Clusters"</h2>
            <table class="table">
                <thead>
                    <tr>
                        <th scope="col">"Cluster"</th>
                        <th scope="col">{column}</th>
                        <th scope="col">"State"</th>
                    </tr>
                </thead>
                <tbody>{clusters.into_iter().map(row).collect_view()}</tbody>
            </table>
        </section>
    }
    .into_any()
}
