//! The releases of a workload, worst first. One row can be open; it shows stages, causes and remedies.

use std::collections::BTreeMap;

use domain::page::Page;
use domain::release::{ReleaseDetails, ReleaseGoal, ReleaseView, SyncStatus};
use domain::{ReleaseId, Timestamp};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::release::ReleaseDetail;
use crate::address::use_tab_query;
use crate::components::{
    Age, Empty, EmptyPage, MissedDeadline, Pager, StateLabel, StatusStyle, health_label, icon, pluralize,
    render_resource_part, sync_label, unbroken,
};
use crate::errors::AppResult;
use crate::paths;
use crate::resource::create_resource;

/// Value of `open` for no open row, also if the worst release fails. No cluster can have this name.
const NO_OPEN_ROW: &str = "-";

/// One page of releases, and the open release with its resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseList {
    /// The releases, worst first.
    pub page: Page<ReleaseView>,
    /// The open release, if there is one.
    pub open: Option<ReleaseDetails>,
    /// The number of drifted fields of the releases that drift; without those of which it is not known.
    pub drifted_fields: Vec<(ReleaseId, u32)>,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads the tab. `open` is the name of a cluster, empty or [`NO_OPEN_ROW`].
#[server(prefix = "/api/fn", endpoint = "releases_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn releases_read(
    name: String,
    group: String,
    cursor: Option<String>,
    open: String,
) -> AppResult<ReleaseList> {
    use crate::components::StateGroup;
    use crate::host;
    use domain::page::ListQuery;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let query = ListQuery { state: StateGroup::state_filter(&group), cursor, ..ListQuery::default() };
    let page = host::into_app_result(hub.list_releases(&name, &query).await)?;
    let open = match open.as_str() {
        NO_OPEN_ROW => None,
        // Releases are sorted worst first. A failing release is opened by default.
        "" if group.is_empty() && query.cursor.is_none() => match page.items.first() {
            Some(worst) if StateGroup::from_state(worst.state) == StateGroup::Failing => {
                load_open_release((&hub, &actor), &name, &worst.cluster_name).await?
            }
            _ => None,
        },
        "" => None,
        cluster => load_open_release((&hub, &actor), &name, cluster).await?,
    };
    let mut shown = page.items.clone();
    shown.extend(open.as_ref().map(|open| open.view.clone()));
    let drifted_fields = host::into_app_result(hub.count_drifted_fields(&shown).await)?.into_iter().collect();
    Ok(ReleaseList { page, open, drifted_fields, read_at: hub.clock().now() })
}

/// The release on the cluster of the open row, as this user may read it; `None` if there is none.
#[cfg(feature = "ssr")]
async fn load_open_release(
    (hub, actor): (&hub::Hub, &hub::Actor),
    name: &str,
    cluster: &str,
) -> AppResult<Option<ReleaseDetails>> {
    match hub.get_release_details(name, cluster).await {
        Ok(details) => crate::host::into_app_result(hub.hide_secrets(actor, details).await).map(Some),
        Err(hub::Error::NotFound { .. }) => Ok(None),
        Err(error) => crate::host::into_app_result(Err(error)),
    }
}

/// The tab with the releases.
#[component]
pub fn ClustersTab(name: Memo<String>, version: RwSignal<u32>) -> impl IntoView {
    let query = use_tab_query();
    let group = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let part = move |key: &'static str| query.read().get(key);
    let data = create_resource(
        move || (name.get(), group.get(), part("cursor"), part("open").unwrap_or_default(), version.get()),
        |(name, group, cursor, open, _)| releases_read(name, group, cursor, open),
    );
    render_resource_part(data, move |list| {
        show_releases(list, &name.get(), &group.get(), part("cursor").as_deref())
    })
}

fn show_releases(list: ReleaseList, name: &str, group: &str, cursor: Option<&str>) -> AnyView {
    let ReleaseList { page, open, drifted_fields, read_at: at } = list;
    let base = paths::query(&paths::workload(name), &[("state", group)]);
    let first = cursor.map(|_| base.clone());
    if page.items.is_empty() && open.is_none() {
        return match first {
            Some(first) => view! { <EmptyPage first=first /> }.into_any(),
            None => show_empty(name, group).into_any(),
        };
    }
    let next = page.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let here = paths::query(&base, &[("cursor", cursor.unwrap_or_default())]);
    let shown = page.items.len();
    let total = page.total;
    let mut rows = page.items;
    // A release opened by a link stays visible even if it is on another page.
    let is_listed =
        |open: &&ReleaseDetails| rows.iter().any(|row| row.release.id() == open.view.release.id());
    if let Some(open) = open.as_ref().filter(|open| !is_listed(open)) {
        rows.insert(0, open.view.clone());
    }
    let drifted_fields: BTreeMap<ReleaseId, u32> = drifted_fields.into_iter().collect();
    let rows = rows.into_iter().map(|row| {
        let detail = open.clone().filter(|open| open.view.release.id() == row.release.id());
        let fields = drifted_fields.get(&row.release.id()).copied();
        release_rows(row, fields, detail, &here, at)
    });
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Cluster"</th>
                    <th scope="col" class="sm:hidden">"State"</th>
                    <th scope="col">"Desired"</th>
                    <th scope="col">"Applied"</th>
                    <th scope="col">"Sync"</th>
                    <th scope="col">"Health"</th>
                    <th scope="col" class="max-lg:hidden">"Drift"</th>
                    <th scope="col">"Connectivity"</th>
                    <th scope="col" class="max-xl:hidden">"Reported"</th>
                    <th scope="col">"Message"</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        <Pager shown=shown total=total noun="releases" first=first next=next />
    }
    .into_any()
}

/// The rows of a release: three axes, and the state itself on a phone. `fields` is the number of its drifted fields;
/// `None` if it does not drift, or they are not known.
fn release_rows(
    row: ReleaseView,
    fields: Option<u32>,
    open: Option<ReleaseDetails>,
    here: &str,
    at: Timestamp,
) -> impl IntoView + use<> {
    let is_open = open.is_some();
    let toggle = paths::query(here, &[("open", if is_open { NO_OPEN_ROW } else { &row.cluster_name })]);
    let release = &row.release;
    let desired = desired_revision(row.release.goal(), row.release.revision());
    let applied = applied_revision(release.applied_revision(), desired);
    let desired = match desired {
        Some(number) => view! { <span class="tag">{format!("r{number}")}</span> }.into_any(),
        None => no_value(),
    };
    let facts_notice = release.facts_notice().to_owned();
    let (status, reported_at) = (release.health().status, release.reported_at());
    let deadline_at = release.deadline_at();
    let health = match row.last_known_state {
        None => health_label(status).into_any(),
        Some(_) => {
            StatusStyle::from_last_known_health(status).with_last_known(status.label(), reported_at, at)
        }
    };
    let other_state = (!is_shown_by_axes(&row)).then(|| {
        let state = StatusStyle::from_state(row.state).with_label(row.state.label());
        view! { <span class="max-sm:hidden">{state}</span> }
    });
    let reported = reported_at.map(|since| view! { <Age since=since at=at suffix=" ago" /> });
    view! {
        <tr class=if is_open { "row-link row-open" } else { "row-link" } data-release=release.id().to_string()>
            <th scope="row" class="cell-name name">
                <a href=toggle aria-expanded=is_open.to_string() class="inline-flex items-center gap-2">
                    {icon(if is_open { "chevron-down" } else { "chevron-right" })}
                    {row.cluster_name.clone()}
                </a>
            </th>
            <td class="cell-state sm:hidden">
                <StateLabel state=row.state last_known=row.last_known_state reported_at=reported_at at=at />
            </td>
            <td data-label="Desired">{desired}</td>
            <td data-label="Applied">{applied}</td>
            <td class="max-sm:hidden">{sync_label(release.sync())}</td>
            <td class="max-sm:hidden">{health}</td>
            <td class="max-lg:hidden">{drift_label(release.sync(), fields)}</td>
            <td class="max-sm:hidden">{StatusStyle::from_connectivity(release.connectivity()).with_label(release.connectivity().as_str())}</td>
            <td class="max-xl:hidden whitespace-nowrap">{reported}</td>
            <td class="min-w-40" title=row.message.clone()>
                {other_state}
                <MissedDeadline deadline_at=deadline_at at=at />
                {(!row.message.is_empty()).then(|| view! { <span class="line-clamp-2">{unbroken(&row.message)}</span> })}
                {(!facts_notice.is_empty()).then(|| view! { <span class="line-clamp-2 text-3">{unbroken(&facts_notice)}</span> })}
            </td>
        </tr>
        {open.map(|open| view! {
            <tr class="row-detail">
                <td colspan="10">
                    <ReleaseDetail details=open at=at />
                </td>
            </tr>
        })}
    }
}

/// The revision that should run there.
const fn desired_revision(goal: &ReleaseGoal, revision: Option<u32>) -> Option<u32> {
    match goal {
        ReleaseGoal::Present => revision,
        _ => None,
    }
}

/// The revision that is applied; grey unless it is the desired one.
fn applied_revision(applied: Option<u32>, desired: Option<u32>) -> AnyView {
    let Some(number) = applied else { return no_value() };
    let class = if applied == desired { "mono text-ink" } else { "mono text-3" };
    view! { <span class=class>{format!("r{number}")}</span> }.into_any()
}

/// `2 fields`; `objects` if only whole objects differ.
fn drift_label(sync: SyncStatus, fields: Option<u32>) -> AnyView {
    match (sync, fields) {
        (SyncStatus::Drifted, None) => view! { <span class="text-3">"unknown"</span> }.into_any(),
        (SyncStatus::Drifted, Some(0)) => "objects".into_any(),
        (SyncStatus::Drifted, Some(fields)) => pluralize(fields, "field").into_any(),
        _ => no_value(),
    }
}

fn no_value() -> AnyView {
    view! { <span class="text-3">"none"</span> }.into_any()
}

/// Whether sync, health or connectivity shows the state in its own word.
fn is_shown_by_axes(row: &ReleaseView) -> bool {
    let words = [row.release.sync().as_str(), row.release.health().status.label()];
    row.last_known_state.is_some() || words.contains(&row.state.label())
}

fn show_empty(name: &str, group: &str) -> impl IntoView + use<> {
    if group.is_empty() {
        let review = paths::publish(name);
        return view! {
            <Empty
                title="Not on any cluster"
                text="Nothing runs before you publish. The review shows the selected clusters and what blocks the publish."
                command=format!("flotilla publish {name} --wait")
            >
                <a class="btn" href=review>
                    "Review"
                </a>
            </Empty>
        }
        .into_any();
    }
    let all = paths::workload(name);
    view! {
        <Empty title="No release in this state" text="Releases may be in other states.">
            <a class="btn" href=all>
                "Show all"
            </a>
        </Empty>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::health::HealthStatus;
    use domain::release::{Release, ReleaseState};
    use domain::{ClusterId, WorkloadId};

    use super::*;
    use crate::render_tests::render_html;

    fn row(state: ReleaseState, last_known: Option<ReleaseState>) -> ReleaseView {
        let (id, workload, cluster) =
            (ReleaseId::from_parts(1, 1), WorkloadId::from_parts(1, 2), ClusterId::from_parts(1, 3));
        let release = Release::new(id, workload, cluster, Timestamp::default());
        ReleaseView {
            state,
            last_known_state: last_known,
            message: String::new(),
            ..ReleaseView::new(release, "shop".to_owned(), "eu-1".to_owned(), String::new())
        }
    }

    fn render(row: ReleaseView) -> String {
        render_html(move || release_rows(row, None, None, "/workloads/shop", Timestamp::default()))
    }

    #[test]
    fn a_state_that_no_axis_shows_is_before_the_message() {
        assert_eq!(render(row(ReleaseState::Failed, None)).matches("Failed").count(), 2);
        let sync = row(ReleaseState::Failed, None).release.sync().as_str();
        let shown = ReleaseState::parse(sync).unwrap();
        assert!(is_shown_by_axes(&row(shown, None)), "{sync}");
        assert!(is_shown_by_axes(&row(ReleaseState::Unknown, Some(ReleaseState::Failed))));
    }

    #[test]
    fn the_last_known_health_of_an_offline_cluster_is_outlined() {
        let page = render(row(ReleaseState::Unknown, Some(ReleaseState::Progressing)));
        let health = row(ReleaseState::Unknown, None).release.health().status;
        let icon = StatusStyle::from_last_known_health(health).icon;
        assert!(page.contains(icon) && !page.contains("see state"), "{page}");
        assert!(page.contains(&format!("{}, last known", health.label())), "{page}");
        assert_eq!(StatusStyle::from_last_known_health(HealthStatus::Healthy).icon, "healthy-last");
    }

    #[test]
    fn an_applied_revision_that_is_not_desired_is_grey() {
        assert!(render_html(|| applied_revision(Some(1), Some(2))).contains("text-3"));
        assert!(!render_html(|| applied_revision(Some(2), Some(2))).contains("text-3"));
        assert!(render_html(|| applied_revision(None, Some(2))).contains("none"));
    }

    #[test]
    fn an_empty_later_page_does_not_say_that_the_workload_is_on_no_cluster() {
        let render = |cursor: Option<&'static str>| {
            let page = Page { items: Vec::new(), next: None, total: 60 };
            let list =
                ReleaseList { page, open: None, drifted_fields: Vec::new(), read_at: Timestamp::default() };
            render_html(move || show_releases(list, "shop", "", cursor))
        };
        let later = render(Some("0a"));
        assert!(later.contains("Back to the start") && !later.contains("Not on any cluster"), "{later}");
        assert!(render(None).contains("Not on any cluster"));
    }

    #[test]
    fn drift_is_counted_in_fields() {
        let text = |sync, fields| render_html(move || drift_label(sync, fields));
        assert!(text(SyncStatus::Drifted, Some(1)).contains("1 field"));
        assert!(text(SyncStatus::Drifted, Some(0)).contains("objects"));
        assert!(text(SyncStatus::Drifted, None).contains("unknown"));
        assert!(text(SyncStatus::Synced, None).contains("none"));
    }
}
