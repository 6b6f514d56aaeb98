//! The fleet: a summary sentence, the counts, what needs attention, the matrix, and what happened recently.

use domain::authorization::UserAction;
use domain::fleet::FleetStatus;
use domain::page::Page;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{Empty, StateCounts, StateStrip, pluralize, render_resource};
use crate::errors::AppResult;
use crate::events::{EventSummary, FeedEntry};
use crate::live::{self, Topic};
use crate::paths;
use crate::permission::PermittedLink;
use crate::resource::create_resource;
use crate::search::use_palette;

mod attention;
mod feed;
mod incidents;
mod matrix;
mod setup;
mod sidebar;
mod summary;

use attention::NeedsAttention;
use feed::RecentChanges;
use incidents::{FleetIncident, FleetIncidents};
pub use matrix::{Matrix, MatrixState};
use setup::{SetupProgress, SetupSteps};
use sidebar::NonReportingClusters;
use summary::FleetSummary;

/// The page's data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetData {
    /// The present state.
    pub status: FleetStatus,
    /// The last change that a user made.
    pub last_change: Option<EventSummary>,
    /// The recent changes.
    pub feed: Vec<FeedEntry>,
    /// Whether there are events, of which none may be a change.
    pub has_events: bool,
    /// The newest open incidents, and the number of all.
    pub incidents: Page<FleetIncident>,
    /// How far the server is set up; `None` once there is a workload.
    pub setup: Option<SetupProgress>,
}

/// The page's one query. `group` is a group's slug and filters the rows.
#[server(prefix = "/api/fn", endpoint = "fleet_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn fleet_read(group: String) -> AppResult<FleetData> {
    use crate::components::StateGroup;
    use crate::host;
    use domain::incident::{IncidentQuery, IncidentState};
    use domain::page::ListQuery;
    use domain::request::EventQuery;
    let hub = host::hub_for_reader()?;
    let query = ListQuery { state: StateGroup::state_filter(&group), ..ListQuery::default() };
    let status = host::into_app_result(hub.get_fleet_status(&query).await)?;
    let recent = EventQuery { limit: Some(feed::EVENTS_READ), ..EventQuery::default() };
    // All of them: the progress of its releases is the outcome of a publish.
    let recent = host::into_app_result(hub.list_events(&recent).await)?.events;
    let open = IncidentQuery {
        state: Some(IncidentState::Open),
        limit: Some(incidents::MAX_SHOWN),
        ..IncidentQuery::default()
    };
    let incidents = host::into_app_result(hub.list_incidents(&open).await)?.map(FleetIncident::from_summary);
    let last_change = recent.iter().find(|event| summary::is_user_change(event.kind));
    let setup = match status.workloads_total {
        0 => Some(read_setup(&hub, status.clusters_total > 0).await?),
        _ => None,
    };
    Ok(FleetData {
        setup,
        last_change: last_change.map(EventSummary::from_event),
        feed: feed::list_recent(&recent),
        has_events: !recent.is_empty(),
        incidents,
        status,
    })
}

/// How far the server is set up. Only an admin sees whether there are other users.
#[cfg(feature = "ssr")]
async fn read_setup(hub: &hub::Hub, has_clusters: bool) -> AppResult<SetupProgress> {
    use crate::host;
    let actor = host::actor()?;
    if actor.check_role(UserAction::ManageUsers).is_err() {
        return Ok(SetupProgress { has_clusters, has_people: None });
    }
    let users = host::into_app_result(hub.list_users(&actor).await)?;
    let providers = host::into_app_result(hub.list_identity_providers(&actor).await)?;
    Ok(SetupProgress { has_clusters, has_people: Some(users.len() > 1 || !providers.is_empty()) })
}

/// The page.
#[component]
pub fn FleetPage() -> impl IntoView {
    let version = live::watch_version(|| Some(Topic::Fleet));
    let query = use_query_map();
    let active = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let data = create_resource(move || (active.get(), version.get()), |(group, _)| fleet_read(group));
    // Live updates do not move a row away from the pointer or the focus.
    let matrix = MatrixState::new();
    let palette = use_palette();
    Effect::new(move |_| {
        if palette.request().is_none() {
            // The cell that opened it has the focus again by then.
            live::page::before_next_frame(move || matrix.release_attention_height(palette.is_open()));
        }
    });
    view! {
        <Title text="Fleet" />
        {render_resource(data, move |data| show_fleet(data, &active.get(), matrix))}
    }
    .into_any()
}

fn show_fleet(data: FleetData, active: &str, matrix: MatrixState) -> AnyView {
    let FleetData { status: fleet, last_change, feed, has_events, incidents, setup } = data;
    let setup =
        setup.filter(|_| active.is_empty()).map(|progress| view! { <SetupSteps progress=progress /> });
    if fleet.clusters_total == 0 {
        return view! {
            <div class="stack">
                <h1 class="title">"Fleet"</h1>
                {setup}
                {no_clusters()}
            </div>
        }
        .into_any();
    }
    let note = format!(
        "{} · {} · {}",
        pluralize(fleet.counts.total(), "release"),
        pluralize(fleet.workloads_total, "workload"),
        pluralize(fleet.clusters_total, "cluster")
    );
    let summarized = fleet.clone();
    let counts = fleet.counts.clone();
    let line = fleet.counts.clone();
    let at = fleet.read_at;
    let total = if active.is_empty() {
        fleet.workloads_total
    } else {
        u32::try_from(fleet.rows.len()).unwrap_or(u32::MAX)
    };
    let is_empty = fleet.workloads_total == 0 && active.is_empty();
    let show_attention = !is_empty || !fleet.attention.is_empty();
    // Behind the palette, the cell that opened it stays in its place.
    let is_fixed = use_palette().is_open();
    let rows = matrix.arrange(fleet.rows, is_fixed);
    matrix.fix_attention_height(is_fixed, || live::page::measure_height(attention::LIST));
    view! {
        <div class="stack">
            <div class="stack-md">
                <div class="head">
                    <FleetSummary fleet=summarized last_change=last_change />
                    <div class="head-actions">
                        <PermittedLink action=UserAction::Edit class="btn btn-primary" href=paths::WORKLOAD_NEW label="New workload" icon_name="plus" />
                    </div>
                </div>
                {(counts.total() > 0).then(|| view! { <StateStrip counts=counts /> })}
                <StateCounts counts=line base=paths::FLEET.to_owned() active=active note=note />
            </div>
            {setup}
            <div class="split">
                <div class="stack">
                    {show_attention
                        .then(|| view! { <NeedsAttention attention=fleet.attention at=at height=matrix.attention_height /> })}
                    {if is_empty {
                        no_workloads().into_any()
                    } else {
                        view! {
                            <Matrix columns=fleet.columns rows=rows total=total active=active.to_owned() at=at state=matrix />
                        }
                            .into_any()
                    }}
                </div>
                <aside class="stack" aria-label="Recent">
                    <RecentChanges entries=feed has_events=has_events at=at />
                    <FleetIncidents incidents=incidents at=at />
                    <NonReportingClusters clusters=fleet.not_reporting total=fleet.clusters_not_online at=at />
                </aside>
            </div>
        </div>
    }
    .into_any()
}

fn no_clusters() -> impl IntoView {
    view! {
        <Empty
            title="No cluster has joined yet"
            text="An agent in the cluster connects to this server and pulls its workloads; the server needs no access to the cluster. For clusters that the server can reach, start it with a kubeconfig."
            command="flotilla-server serve --kubeconfig ~/.kube/config"
        >
            <a class="btn btn-primary" href=paths::CLUSTERS>
                "How a cluster joins"
            </a>
        </Empty>
    }
}

fn no_workloads() -> impl IntoView {
    view! {
        <Empty
            title="Nothing is published yet"
            text="Describe a workload once, choose its clusters, review the plan, publish. No cluster is changed before that."
            command="flotilla apply -f deploy.yaml"
        >
            // The main action of the page is in its head.
            <PermittedLink action=UserAction::Edit class="btn" href=paths::WORKLOAD_NEW label="New workload" />
        </Empty>
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    fn render(workloads: u32) -> String {
        let status = FleetStatus { clusters_total: 1, workloads_total: workloads, ..FleetStatus::default() };
        render_html(move || {
            let incidents = Page { items: Vec::new(), next: None, total: 0 };
            let progress = SetupProgress { has_clusters: true, has_people: Some(false) };
            let setup = (workloads == 0).then_some(progress);
            let data = FleetData {
                status,
                last_change: None,
                feed: Vec::new(),
                has_events: false,
                incidents,
                setup,
            };
            show_fleet(data, "", MatrixState::new())
        })
    }

    #[test]
    fn a_fleet_without_workloads_has_one_main_action() {
        let page = render(0);
        assert_eq!(page.matches("btn-primary").count(), 1, "{page}");
        assert_eq!(page.matches("New workload").count(), 2, "{page}");
        assert!(page.contains("Set up in four steps") && page.contains("Describe a workload"), "{page}");
        assert!(!page.contains("Needs attention"), "{page}");
    }

    #[test]
    fn what_needs_attention_has_its_place_above_the_matrix_while_it_is_nothing() {
        let page = render(1);
        assert!(page.contains("No release or rollout needs attention."), "{page}");
        assert!(!page.contains("Set up in four steps"), "{page}");
    }
}
