//! The page of a rollout: its clusters by wave, what became of the revision on each, and its report.

use domain::Timestamp;
use domain::page::Page;
use domain::rollout::{Rollout, RolloutCluster, RolloutClusterStatus};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use serde::{Deserialize, Serialize};

use super::panel::state_style;
use crate::components::{
    Empty, EmptyPage, FilterForm, Pager, StateGroup, StatusStyle, pluralize, render_resource,
    render_resource_part, search_field, unbroken,
};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::resource::create_resource;

/// Clusters of a page.
#[cfg(feature = "ssr")]
const PAGE_CLUSTERS: u32 = 200;

/// A rollout with one page of its clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutGrid {
    /// The rollout.
    pub rollout: Rollout,
    /// Its clusters, by wave and name.
    pub page: Page<RolloutCluster>,
    /// When this was read, by the server's clock.
    pub at: Timestamp,
}

/// What of a rollout is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GridFilter {
    /// Number of the revision; empty for the published one.
    pub revision: String,
    /// Name of the only wave; empty for all.
    pub wave: String,
    /// Slug of the group of states; empty for any.
    pub state: String,
    /// A part of the names of clusters.
    pub q: String,
    /// Where the page begins; empty for the first.
    pub cursor: String,
}

impl GridFilter {
    /// The address of this filter.
    fn address(&self, name: &str) -> String {
        paths::query(
            &paths::rollout(name),
            &[
                ("revision", &self.revision),
                ("wave", &self.wave),
                ("state", &self.state),
                ("q", &self.q),
                ("cursor", &self.cursor),
            ],
        )
    }

    /// The first page of the same filter.
    fn first_page(&self) -> Self {
        Self { cursor: String::new(), ..self.clone() }
    }
}

/// Reads the page.
#[server(prefix = "/api/fn", endpoint = "rollout_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn rollout_read(name: String, #[server(default)] filter: GridFilter) -> AppResult<RolloutGrid> {
    use crate::host;
    use domain::page::ListQuery;
    use domain::rollout::RolloutClusterQuery;
    let GridFilter { revision, wave, state, q, cursor } = filter;
    let list = ListQuery {
        limit: Some(PAGE_CLUSTERS),
        cursor: (!cursor.is_empty()).then_some(cursor),
        q,
        state: StateGroup::state_filter(&state),
        ..ListQuery::default()
    };
    // An invalid number becomes 0, which no revision has, and is reported as not found.
    let revision = (!revision.is_empty()).then(|| revision.parse().unwrap_or_default());
    let query = RolloutClusterQuery { revision, wave: (!wave.is_empty()).then_some(wave), list };
    let hub = host::hub_for_reader()?;
    let (rollout, page) = host::into_app_result(hub.list_rollout_clusters(&name, &query).await)?;
    Ok(RolloutGrid { rollout, page, at: hub.clock().now() })
}

/// The page.
#[component]
pub fn RolloutGridPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let name = Memo::new(move |_| params.read().get("name").unwrap_or_default());
    let part = move |key: &'static str| query.read().get(key).unwrap_or_default();
    let filter = Memo::new(move |_| GridFilter {
        revision: part("revision"),
        wave: part("wave"),
        state: part("state"),
        q: part("q"),
        cursor: part("cursor"),
    });
    let id = RwSignal::new(None);
    let version = live::watch_version(move || id.get().map(Topic::Workload));
    let data = create_resource(
        move || (name.get(), filter.get(), version.get()),
        |(name, filter, _)| rollout_read(name, filter),
    );
    Effect::new(move |_| id.set(data.get().and_then(Result::ok).map(|grid| grid.rollout.workload)));
    let hidden = move |key: &'static str| {
        move || {
            let value = part(key);
            (!value.is_empty()).then(|| view! { <input type="hidden" name=key value=value /> })
        }
    };
    let form = move || {
        view! {
            <FilterForm action=paths::rollout(&name.get())>
                <div class="filter-bar">
                    {move || search_field("q", "Cluster", part("q"))}
                    {move || state_filter(&part("state"))}
                    {hidden("revision")}
                    {hidden("wave")}
                    <button class="btn" type="submit">
                        "Filter"
                    </button>
                </div>
            </FilterForm>
        }
    };
    view! {
        {move || view! { <Title text=format!("Rollout of {}", name.get()) /> }}
        <div class="stack-md">
            {render_resource(data, move |grid| show_head(&name.get(), &grid))}
            {form}
            {render_resource_part(data, move |grid| show_grid(&name.get(), grid, &filter.get()))}
        </div>
    }
    .into_any()
}

fn state_filter(active: &str) -> AnyView {
    let option = |group: StateGroup| {
        let is_chosen = active == group.slug();
        view! {
            <option value=group.slug() selected=is_chosen>
                {group.label()}
            </option>
        }
    };
    view! {
        <select class="select max-w-44" name="state" aria-label="State">
            <option value="">"Any state"</option>
            {StateGroup::ALL.map(option).collect_view()}
        </select>
    }
    .into_any()
}

/// The state of the rollout, and links to its reports.
fn show_head(name: &str, grid: &RolloutGrid) -> AnyView {
    let RolloutGrid { rollout, at, .. } = grid;
    let number = rollout.revision;
    let now = live::server_now(*at);
    let style = state_style(&rollout.state);
    let title = format!("Rollout of {name} r{number}");
    let sentence = {
        let rollout = rollout.clone();
        move || rollout.message(now.get())
    };
    let report = |format: &'static str, label: &'static str| {
        let file = format!("rollout-{name}-r{number}.{format}");
        let href = paths::rollout_report(name, number, format);
        view! { <a class="btn" href=href download=file rel="external">{label}</a> }
    };
    let reports = view! {
        {report("md", "Report (Markdown)")}
        {report("csv", "Report (CSV)")}
    };
    view! {
        <div class="head">
            <h1 class="title">{title}</h1>
            <div class="head-actions">
                <a class="btn" href=paths::workload(name)>
                    "Workload"
                </a>
                {reports}
            </div>
        </div>
        <p class="flex gap-2">
            {style.icon_view()} <span>{sentence}</span>
        </p>
    }
    .into_any()
}

/// Links to the waves, and the clusters of those that are shown.
fn show_grid(name: &str, grid: RolloutGrid, filter: &GridFilter) -> AnyView {
    let RolloutGrid { rollout, page, .. } = grid;
    let first_page = filter.first_page();
    let first = (!filter.cursor.is_empty()).then(|| first_page.address(name));
    let waves = wave_links(name, &rollout, &first_page);
    if page.items.is_empty() {
        let empty = match first {
            Some(first) => view! { <EmptyPage first=first /> }.into_any(),
            None => show_empty(name, &first_page),
        };
        return view! {
            {waves}
            {empty}
        }
        .into_any();
    }
    let next = page.next.map(|cursor| GridFilter { cursor, ..first_page }.address(name));
    let shown = page.items.len();
    let sections = page.items.chunk_by(|one, other| one.wave == other.wave);
    let sections = sections.map(|clusters| wave_section(name, &rollout, clusters)).collect_view();
    view! {
        {waves}
        {sections}
        <Pager shown=shown total=page.total noun="clusters" first=first next=next />
    }
    .into_any()
}

fn show_empty(name: &str, filter: &GridFilter) -> AnyView {
    let all = GridFilter { revision: filter.revision.clone(), ..GridFilter::default() };
    if *filter == all {
        return view! {
            <Empty
                title="No cluster is to have this revision"
                text="Another revision has replaced it, or no cluster is selected. The report has the last numbers of its waves."
            />
        }
        .into_any();
    }
    let href = all.address(name);
    view! {
        <Empty title="No cluster matches" text="Clusters of this rollout may be in other waves or states.">
            <a class="btn" href=href>
                "Show all"
            </a>
        </Empty>
    }
    .into_any()
}

/// Links to one wave and to all of them.
fn wave_links(name: &str, rollout: &Rollout, filter: &GridFilter) -> AnyView {
    let link = |wave: String, label: String| {
        let is_current = filter.wave == wave;
        let href = GridFilter { wave, ..filter.clone() }.address(name);
        view! { <a href=href aria-current=is_current.then_some("page")>{label}</a> }
    };
    let all = link(String::new(), "All waves".to_owned());
    let waves = rollout.waves.iter().map(|wave| link(wave.name.clone(), wave.name.clone())).collect_view();
    view! {
        <nav class="segmented flex-wrap" aria-label="Wave">
            {all}
            {waves}
        </nav>
    }
    .into_any()
}

/// The clusters of one wave.
fn wave_section(name: &str, rollout: &Rollout, clusters: &[RolloutCluster]) -> AnyView {
    let Some(first) = clusters.first() else { return ().into_any() };
    let at = first.wave as usize;
    let (id, labelled_by) = (format!("wave-{at}"), format!("wave-{at}"));
    let in_wave = rollout.waves.get(at).map_or(0, |wave| wave.clusters);
    let heading = format!("Wave {} of {}: {}", at + 1, rollout.waves.len(), first.wave_name);
    let note = format!("{}, {}", rollout.wave_label(at), pluralize(in_wave, "cluster"));
    let cells = clusters.iter().map(|one| cluster_cell(name, one)).collect_view();
    view! {
        <section class="stack-sm" aria-labelledby=labelled_by>
            <div class="flex flex-wrap items-baseline gap-x-3">
                <h2 class="section" id=id>
                    {heading}
                </h2>
                <span class="text-2">{note}</span>
            </div>
            <ul class="grid grid-cols-[repeat(auto-fill,minmax(11rem,1fr))] gap-3">{cells}</ul>
        </section>
    }
    .into_any()
}

/// One cluster: its name, what the rollout counts it as, its revision and its state.
fn cluster_cell(workload: &str, one: &RolloutCluster) -> AnyView {
    let href = paths::release(workload, &one.name);
    let revision =
        one.applied_revision.map_or_else(|| "nothing applied".to_owned(), |n| format!("r{n} applied"));
    let note = format!("{revision}, {}", one.state.label());
    let message = (!one.message.is_empty()).then(|| {
        let text = unbroken(&one.message);
        view! { <p class="meta line-clamp-2" title=one.message.clone()>{text}</p> }
    });
    view! {
        <li class="min-w-0">
            <p class="min-w-0 break-words">
                <a class="link" href=href>
                    {one.name.clone()}
                </a>
            </p>
            <p>{cell_style(one.status).with_label(one.status.label())}</p>
            <p class="meta">{note}</p>
            {message}
        </li>
    }
    .into_any()
}

/// A mark of its own for each status: colour is not the only difference.
const fn cell_style(status: RolloutClusterStatus) -> StatusStyle {
    let (icon, hue, emphasis) = match status {
        RolloutClusterStatus::Waiting => ("pending", "hue-progressing", "state-attention"),
        RolloutClusterStatus::Deferred => ("unknown", "hue-unknown", "state-quiet"),
        RolloutClusterStatus::InProgress => ("progressing", "hue-progressing", "state-attention"),
        RolloutClusterStatus::Drifted => ("drifted", "hue-drifted", "state-attention"),
        RolloutClusterStatus::Operational => ("healthy", "hue-healthy", "state-quiet"),
        RolloutClusterStatus::Failing => ("failed", "hue-degraded", "state-broken"),
        RolloutClusterStatus::Silent => ("degraded", "hue-degraded", "state-broken"),
        RolloutClusterStatus::RolledBack => ("stale", "hue-paused", "state-attention"),
        RolloutClusterStatus::NotStarted => ("suspended", "hue-paused", "state-attention"),
    };
    StatusStyle { icon, hue, emphasis }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::WorkloadId;
    use domain::release::ReleaseState;
    use domain::rollout::RolloutStrategy;
    use serde_json::json;

    use super::*;
    use crate::render_tests::render_html;

    fn grid() -> RolloutGrid {
        let at = Timestamp::default();
        let waves = json!({ "waves": [{ "name": "canary" }, { "name": "rest" }] });
        let strategy: RolloutStrategy = serde_json::from_value(waves).unwrap();
        let rollout = Rollout::new(WorkloadId::from_parts(1, 1), (Some(1), 2), strategy, at);
        let cluster = |name: &str, wave: u32, status| RolloutCluster {
            name: name.to_owned(),
            wave,
            wave_name: rollout.waves[wave as usize].name.clone(),
            status,
            state: ReleaseState::Healthy,
            released_revision: Some(2),
            applied_revision: Some(2),
            since: at,
            message: String::new(),
        };
        let items = vec![
            cluster("eu-1", 0, RolloutClusterStatus::Operational),
            cluster("us-1", 1, RolloutClusterStatus::Waiting),
            cluster("us-2", 1, RolloutClusterStatus::Waiting),
        ];
        let page = Page { items, next: Some("0a".to_owned()), total: 9 };
        RolloutGrid { rollout, page, at }
    }

    #[test]
    fn f4b_the_grid_has_a_section_per_wave_and_a_cell_with_a_text_per_cluster() {
        let filter = GridFilter { revision: "2".to_owned(), q: "s".to_owned(), ..GridFilter::default() };
        let page = render_html(move || show_grid("web", grid(), &filter)).replace("&amp;", "&");
        for text in ["Wave 1 of 2: canary", "Wave 2 of 2: rest", "Operational", "r2 applied, Healthy"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert_eq!(page.matches("</svg>Waiting").count(), 2, "{page}");
        assert!(page.contains("/workloads/web?open=us-2"), "{page}");
        assert!(page.contains("/workloads/web/rollout?revision=2&q=s&cursor=0a"), "{page}");
        assert!(page.contains("/workloads/web/rollout?revision=2&wave=rest&q=s"), "{page}");
    }

    #[test]
    fn every_status_of_a_cluster_has_its_own_mark() {
        let marks: std::collections::BTreeSet<&str> =
            RolloutClusterStatus::ALL.iter().map(|status| cell_style(*status).icon).collect();
        assert_eq!(marks.len(), RolloutClusterStatus::ALL.len());
    }
}
