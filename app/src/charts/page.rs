//! The page of a chart: README, versions, default values, dependencies, and the workloads that use it.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::chart::{ChartDependency, ChartDetails, ChartUse};
use domain::chart_repository::{CatalogVersion, ChartDescription};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use serde::{Deserialize, Serialize};

use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{Age, ConfirmDialog, CopyBlock, FindingList, icon, render_resource};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::{Permission, PermittedLink};
use crate::resource::create_resource;

/// Versions that are listed before the others are unfolded.
const SHOWN_VERSIONS: usize = 10;

/// A chart for its page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartPageData {
    chart: ChartDescription,
    read_at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "chart_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_read(
    repository: String,
    name: String,
    version: Option<String>,
) -> AppResult<ChartPageData> {
    use crate::host;
    use domain::chart::ChartRef;
    let hub = host::hub_for_reader()?;
    let reference = ChartRef { repository: &repository, name: &name };
    let mut chart = host::into_app_result(hub.describe_chart(reference, version.as_deref()).await)?;
    // The page shows the README as HTML, and no schema.
    if let Some(details) = &mut chart.details {
        details.readme.clear();
        details.values_schema.clear();
    }
    Ok(ChartPageData { chart, read_at: hub.clock().now() })
}

/// Deletes a stored version of a chart; rejected while a workload names it.
#[server(prefix = "/api/fn", endpoint = "chart_delete")]
pub async fn chart_delete(reference: String, version: String) -> AppResult<()> {
    use crate::host;
    let (repository, name) = reference.split_once('/').unwrap_or((&reference, ""));
    host::into_app_result(host::hub()?.delete_chart(&host::actor()?, repository, name, &version).await)?;
    leptos_axum::redirect(paths::CHARTS);
    Ok(())
}

/// The page.
#[component]
pub fn ChartPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let part = move |name: &str| params.read().get(name).unwrap_or_default();
    let reference = Memo::new(move |_| (part("repository"), part("chart")));
    let version = Memo::new(move |_| query.read().get("version"));
    let is_deleting = Memo::new(move |_| query.read().get("dialog").is_some_and(|name| name == "delete"));
    let delete = ServerAction::<ChartDelete>::new();
    // A deletion leads to the list of charts; a rejected one changes nothing here.
    let data = create_resource(
        move || (reference.get(), version.get()),
        |((repository, name), version)| chart_read(repository, name, version),
    );
    view! {
        {move || view! { <Title text=format!("{}/{}", reference.get().0, reference.get().1) /> }}
        {render_resource(data, move |data| show_chart(data, is_deleting, delete))}
    }
    .into_any()
}

fn show_chart(data: ChartPageData, is_deleting: Memo<bool>, delete: ServerAction<ChartDelete>) -> AnyView {
    let ChartPageData { chart: description, read_at } = data;
    let ChartDescription { chart, version, versions, details, findings, readme_html, used_by } = description;
    let is_stored = versions.iter().any(|one| one.version == version && one.is_stored);
    let dialog = {
        let (chart, version) = (chart.clone(), version.clone());
        move || {
            (is_stored && is_deleting.get()).then(|| delete_dialog(chart.clone(), version.clone(), delete))
        }
    };
    let about = details.as_ref().map(|details| details.chart.description.clone()).unwrap_or_default();
    let is_deprecated = details.as_ref().is_some_and(|details| details.deprecated);
    let unreadable = (!findings.is_empty()).then(|| {
        view! {
            <section class="stack-sm" aria-label="Findings">
                <p class="text-2">"This version can't be read now."</p>
                <FindingList findings=findings />
            </section>
        }
    });
    view! {
        <div class="stack">
            <div class="stack-sm">
                <div class="head">
                    <div class="flex flex-wrap items-baseline gap-x-3 gap-y-1">
                        <h1 class="title-mono">{chart.clone()}</h1>
                        <span class="tag">{version.clone()}</span>
                        {is_deprecated.then(|| view! { <span class="hue-degraded flex items-center gap-1">{icon("error")} "deprecated"</span> })}
                    </div>
                    <div class="head-actions">
                        <PermittedLink action=UserAction::Edit class="btn btn-primary" href=paths::workload_from_chart(&chart, &version) label="Use this chart" />
                        {is_stored.then(|| view! { <a class="btn btn-danger" href=paths::chart_deletion(&chart, &version)>{icon("trash")} "Delete version"</a> })}
                    </div>
                </div>
                {(!about.is_empty()).then(|| view! { <p class="text-2">{about}</p> })}
                {details.as_ref().map(|details| show_facts(details, read_at))}
            </div>
            {unreadable}
            <div class="split split-344">
                <div class="stack">
                    {details.as_ref().map(|details| show_readme(details, readme_html))}
                </div>
                <aside class="stack" aria-label="Versions, dependencies and use">
                    {show_versions(&chart, &version, versions, read_at)}
                    {details.map(|details| show_dependencies(details.dependencies))}
                    {show_users(used_by)}
                </aside>
            </div>
            {dialog}
        </div>
    }
    .into_any()
}

fn show_facts(details: &ChartDetails, read_at: Timestamp) -> AnyView {
    let ChartDetails { chart, links, .. } = details;
    let line = |what: &'static str, value: &str| {
        let value = value.to_owned();
        (!value.is_empty())
            .then(|| view! { <div><dt>{what}</dt><dd class="mono break-all">{value}</dd></div> })
    };
    let links = (!links.is_empty()).then(|| {
        let link = |address: &String| {
            let shown = address.trim_start_matches("https://").trim_start_matches("http://").to_owned();
            view! { <a class="link break-all mr-3" href=address.clone() rel="noreferrer nofollow">{shown}</a> }
        };
        view! { <div><dt>"Links"</dt><dd>{links.iter().take(4).map(link).collect_view()}</dd></div> }
    });
    view! {
        <dl class="facts">
            {line("Application", &chart.app_version)}
            {line("Kubernetes", &chart.kubernetes_range)}
            {line("Digest", chart.digest.short())}
            <div>
                <dt>"Stored"</dt>
                <dd><Age since=chart.created_at at=read_at suffix=" ago" /> {format!(" by {}", chart.created_by)}</dd>
            </div>
            {links}
        </dl>
    }
    .into_any()
}

fn show_readme(details: &ChartDetails, readme_html: String) -> AnyView {
    let readme = if readme_html.is_empty() {
        view! { <p class="text-2">"The chart has no README."</p> }.into_any()
    } else {
        // The server has written this HTML from Markdown, with escaped text and without elements of the README's own.
        view! { <div class="prose" inner_html=readme_html></div> }.into_any()
    };
    let values = details.default_values.clone();
    // Without them here, the chart may have some.
    let left_out = details.find_shortened("values.yaml").map(|file| file.reason.clone());
    let no_values = left_out.unwrap_or_else(|| "The chart has no default values.".to_owned());
    view! {
        <section class="stack-sm" aria-labelledby="readme">
            <h2 class="section" id="readme">"README"</h2>
            {readme}
        </section>
        <section class="stack-sm" aria-labelledby="default-values">
            <h2 class="section" id="default-values">"Default values"</h2>
            {if values.trim().is_empty() {
                view! { <p class="text-2">{no_values}</p> }.into_any()
            } else {
                view! { <CopyBlock text=values label="values.yaml" /> }.into_any()
            }}
        </section>
    }
    .into_any()
}

fn show_versions(chart: &str, shown: &str, versions: Vec<CatalogVersion>, read_at: Timestamp) -> AnyView {
    let row = |one: CatalogVersion| {
        let is_current = one.version == shown;
        let address = paths::chart(chart, &one.version);
        let since = one.created_at.map(|at| view! { <Age since=at at=read_at suffix=" ago" /> });
        view! {
            <li class="flex items-baseline justify-between gap-3">
                <span class="flex flex-wrap items-baseline gap-2">
                    <a class="link mono" href=address aria-current=is_current.then_some("true")>{one.version}</a>
                    {one.deprecated.then(|| view! { <span class="meta hue-degraded">"deprecated"</span> })}
                    {one.is_stored.then(|| view! { <span class="meta">"stored"</span> })}
                </span>
                <span class="meta whitespace-nowrap">{since}</span>
            </li>
        }
    };
    let mut rows: Vec<_> = versions.into_iter().map(row).collect();
    let older = rows.split_off(rows.len().min(SHOWN_VERSIONS));
    let older = (!older.is_empty()).then(|| {
        let summary = format!("{} older versions", older.len());
        view! { <details class="fold"><summary>{summary}</summary><ul class="stack-sm pt-2">{older}</ul></details> }
    });
    view! {
        <section class="stack-sm" aria-labelledby="versions">
            <h2 class="section" id="versions">"Versions"</h2>
            <ul class="stack-sm">{rows}</ul>
            {older}
        </section>
    }
    .into_any()
}

fn show_dependencies(dependencies: Vec<ChartDependency>) -> AnyView {
    if dependencies.is_empty() {
        return ().into_any();
    }
    let row = |one: ChartDependency| {
        let condition = (!one.condition.is_empty()).then(|| {
            view! { <span class="meta">"if " <code>{one.condition.clone()}</code></span> }
        });
        let alias = (one.values_key != one.name).then(|| format!(" as {}", one.values_key));
        view! {
            <li class="flex flex-wrap items-baseline gap-x-3">
                <span class="name">{one.name} {alias}</span>
                <span class="mono">{one.version}</span>
                {condition}
            </li>
        }
    };
    view! {
        <section class="stack-sm" aria-labelledby="dependencies">
            <h2 class="section" id="dependencies">"Dependencies"</h2>
            <ul class="stack-sm">{dependencies.into_iter().map(row).collect_view()}</ul>
        </section>
    }
    .into_any()
}

fn show_users(used_by: Vec<ChartUse>) -> AnyView {
    let mut workloads: Vec<(String, Vec<String>)> = Vec::new();
    for ChartUse { workload, version, .. } in used_by {
        let version = if version.is_empty() { "no version".to_owned() } else { version };
        match workloads.last_mut().filter(|(name, _)| *name == workload) {
            Some((_, versions)) => versions.push(version),
            None => workloads.push((workload, vec![version])),
        }
    }
    let list = if workloads.is_empty() {
        view! { <p class="text-2">"No workload uses this chart."</p> }.into_any()
    } else {
        let row = |(name, versions): (String, Vec<String>)| {
            view! {
                <li class="flex flex-wrap items-baseline gap-x-3">
                    <a class="link name" href=paths::workload(&name)>{name.clone()}</a>
                    <span class="meta mono">{versions.join(", ")}</span>
                </li>
            }
        };
        view! { <ul class="stack-sm">{workloads.into_iter().map(row).collect_view()}</ul> }.into_any()
    };
    view! {
        <section class="stack-sm" aria-labelledby="used-by">
            <h2 class="section" id="used-by">"Used by"</h2>
            {list}
            <p class="meta">"In a draft or in any stored revision."</p>
        </section>
    }
    .into_any()
}

fn delete_dialog(chart: String, version: String, delete: ServerAction<ChartDelete>) -> AnyView {
    let back = paths::chart(&chart, &version);
    let is_local = chart.starts_with("local/");
    let consequence = if is_local {
        "The archive is deleted and can't be restored here; upload it again to use it."
    } else {
        "The stored copy is deleted; it is fetched again from its repository when a workload needs it."
    };
    view! {
        <ConfirmDialog title=format!("Delete {chart} {version}?") back=back.clone()>
            <ActionForm action=delete>
                <Permission action=UserAction::ChangeCharts>
                    <input type="hidden" name="reference" value=chart />
                    <input type="hidden" name="version" value=version />
                    <div class="dialog-body">
                        {action_error(delete.value())}
                        <p>{consequence}</p>
                        <p>"A version that a draft or a revision of a workload names is not deleted."</p>
                    </div>
                    {dialog_buttons(back, "Delete version", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
