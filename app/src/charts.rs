//! The charts of the project: the catalog, the upload of a packed chart, and the repositories.

use domain::authorization::UserAction;
use domain::chart::ChartVersion;
use domain::chart_repository::CatalogChart;
use domain::page::Page;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use crate::components::{
    Empty, EmptyPage, ErrorBanner, FilterForm, Pager, icon, pluralize, render_resource, render_selected,
    search_field,
};
use crate::errors::AppResult;
use crate::live::{self, Topic, files::LocalFile, files::read_picked_archive};
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;

mod form_field;
mod git_repositories;
mod page;
mod removal;
mod repositories;

use git_repositories::GitRepositoriesSection;
pub use page::ChartPage;
use repositories::RepositoriesSection;

/// One page of the catalog, and what renders charts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartList {
    /// Uploaded charts, fetched ones, and those in the indexes of repositories.
    page: Page<CatalogChart>,
    /// Whether there is something to search: a chart, or a search without a result.
    is_searchable: bool,
    /// Whether the server can render charts.
    has_helm: bool,
}

/// The charts with every word of `q` in their name or description.
#[server(prefix = "/api/fn", endpoint = "charts_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn charts_read(q: String, cursor: Option<String>) -> AppResult<ChartList> {
    use crate::host;
    use domain::page::ListQuery;
    let hub = host::hub_for_reader()?;
    let is_filtered = !q.is_empty() || cursor.is_some();
    let query = ListQuery { q, cursor, ..ListQuery::default() };
    let page = host::into_app_result(hub.search_charts(&query).await)?;
    let is_searchable = is_filtered || !page.items.is_empty();
    Ok(ChartList { page, is_searchable, has_helm: hub.helm_version().is_some() })
}

/// Stores a packed chart, given in base64.
#[server(prefix = "/api/fn", endpoint = "chart_upload")]
pub async fn chart_upload(archive: String) -> AppResult<ChartVersion> {
    use crate::errors::AppError;
    use crate::host;
    use base64::Engine as _;
    use domain::Finding;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let bytes = base64::engine::general_purpose::STANDARD.decode(archive).map_err(|_| {
        let finding = Finding::error("G112", "The file could not be read.", "Choose it again.");
        host::with_status(AppError::from_finding(finding))
    })?;
    host::into_app_result(hub.upload_chart(&actor, bytes).await)
}

/// The page.
#[component]
pub fn ChartsPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let upload = ServerAction::<ChartUpload>::new();
    let unreadable = RwSignal::new(None::<String>);
    // An upload is in the event log, which the fleet's topic covers.
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (part("q"), query.read().get("cursor"), upload.version().get(), version.get()),
        |(q, cursor, ..)| charts_read(q, cursor),
    );
    view! {
        <Title text="Charts" />
        <div class="stack">
            <div class="stack-sm">
                <div class="head">
                    <h1 class="title">"Charts"</h1>
                    <div class="head-actions">{upload_button(upload, unreadable)}</div>
                </div>
                <p class="text-2">
                    "Helm charts of this project: uploaded ones, and those of its repositories. A version never changes once it is stored, so a revision always means the same chart."
                </p>
                {upload_result(upload, unreadable)}
            </div>
            <section class="stack-sm" aria-label="Catalog">
                <Transition>
                    {render_selected(data, |list| list.is_searchable, move |is_searchable| match is_searchable {
                        true => search_form(query),
                        false => ().into_any(),
                    })}
                </Transition>
                {render_resource(data, move |list| show_charts(list, &part("q"), query.read().get("cursor").is_some()))}
            </section>
            <RepositoriesSection />
            <GitRepositoriesSection />
        </div>
    }
    .into_any()
}

/// The search in the catalog.
fn search_form(query: Memo<ParamsMap>) -> AnyView {
    view! {
        <FilterForm action=paths::CHARTS>
            <div class="filter-bar">
                {move || search_field("q", "Name or description", query.read().get("q").unwrap_or_default())}
                <button class="btn" type="submit">"Search"</button>
            </div>
        </FilterForm>
    }
    .into_any()
}

/// The button that uploads a packed chart. `unreadable`: why the picked file can't be read.
fn upload_button(upload: ServerAction<ChartUpload>, unreadable: RwSignal<Option<String>>) -> AnyView {
    let on_file = Callback::new(move |file: LocalFile| match file.text {
        Ok(archive) => {
            unreadable.set(None);
            upload.dispatch(ChartUpload { archive });
        }
        Err(why) => unreadable.set(Some(format!("{} {why}.", file.name))),
    });
    let busy = upload.pending();
    view! {
        <Permission action=UserAction::ChangeCharts>
            <label class="btn btn-primary" title="A .tgz as helm package writes it" aria-busy=move || busy.get().to_string()>
                {icon("upload")}
                {move || if busy.get() { "Uploading…" } else { "Upload chart" }}
                <input class="sr-only" type="file" accept=".tgz,.gz,application/gzip" on:change=move |ev| read_picked_archive(&ev, on_file) />
            </label>
        </Permission>
    }
    .into_any()
}

/// The uploaded chart, or why there is none.
fn upload_result(upload: ServerAction<ChartUpload>, unreadable: RwSignal<Option<String>>) -> AnyView {
    view! {
        <div>
            {move || unreadable.get().map(|why| view! { <p class="field-message hue-degraded">{icon("error")} {why}</p> })}
            {move || match upload.value().get() {
                Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
                Some(Ok(chart)) => {
                    view! {
                        <p class="flex items-center gap-2" role="status">
                            <span class="hue-healthy flex">{icon("healthy")}</span>
                            <span>
                                <a class="link name" href=paths::chart(&chart.reference(), &chart.version)>{chart.reference()}</a>
                                {format!(" {} uploaded.", chart.version)}
                            </span>
                        </p>
                    }
                        .into_any()
                }
                None => ().into_any(),
            }}
        </div>
    }
    .into_any()
}

fn show_charts(list: ChartList, q: &str, later: bool) -> AnyView {
    let ChartList { page, has_helm, .. } = list;
    let missing = (!has_helm).then(helm_missing);
    let base = paths::query(paths::CHARTS, &[("q", q)]);
    if page.items.is_empty() {
        let empty = if later {
            view! { <EmptyPage first=base /> }.into_any()
        } else if q.is_empty() {
            view! {
                <Empty title="No charts yet" text="Upload a packed chart, or add a repository, then start a workload from it."
                    command="flotilla chart push podinfo-6.14.1.tgz">
                    // A link to a field opens the fold around it.
                    <a class="btn" href="#repository-name" rel="external">
                        "Add chart repository"
                    </a>
                    <a class="btn" href="#git-name" rel="external">
                        "Add Git repository"
                    </a>
                </Empty>
            }
            .into_any()
        } else {
            let text = format!(
                "No name or description contains {q:?}. Charts of an OCI registry are not listed: a workload names them."
            );
            view! { <Empty title="No such chart" text=text /> }.into_any()
        };
        return view! { {missing} {empty} }.into_any();
    }
    let next = page.next.as_ref().map(|cursor| paths::query(&base, &[("cursor", cursor)]));
    let shown = page.items.len();
    let row = |chart: CatalogChart| {
        let versions = pluralize(chart.version_count, "version");
        view! {
            <tr>
                <th scope="row" class="cell-name name"><a href=paths::chart(&chart.chart, "")>{chart.chart.clone()}</a></th>
                <td data-label="Newest" class="mono whitespace-nowrap">{chart.version}</td>
                <td data-label="Application" class="mono">{chart.app_version}</td>
                <td data-label="Description">
                    {chart.deprecated.then(|| view! { <span class="hue-degraded">"Deprecated. "</span> })}
                    {chart.description}
                </td>
                <td data-label="Versions" class="whitespace-nowrap">{versions}</td>
            </tr>
        }
    };
    view! {
        {missing}
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Chart"</th>
                    <th scope="col">"Newest"</th>
                    <th scope="col">"Application"</th>
                    <th scope="col">"Description"</th>
                    <th scope="col">"Versions"</th>
                </tr>
            </thead>
            <tbody>{page.items.into_iter().map(row).collect_view()}</tbody>
        </table>
        <Pager shown=shown total=page.total noun="charts" first=later.then_some(base) next=next />
    }
    .into_any()
}

/// The server has no Helm.
pub fn helm_missing() -> AnyView {
    view! {
        <p class="field-message hue-degraded" role="status">
            {icon("error")}
            <span>
                "Helm is not available on the server, so charts can't be rendered: workloads with charts wait. Install helm 4.2.4 or newer there, or set --helm."
            </span>
        </p>
    }
    .into_any()
}
