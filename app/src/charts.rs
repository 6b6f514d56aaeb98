//! The charts of the project: the list, the upload of a packed chart, and the repositories.

use domain::chart::ChartVersion;
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use crate::components::{Age, Empty, ErrorBanner, icon, render_resource};
use crate::errors::AppResult;
use crate::live::{self, Topic, files::LocalFile, files::read_picked_archive};
use crate::resource::create_resource;

mod git_repositories;
mod repositories;

use git_repositories::GitRepositoriesSection;
use repositories::RepositoriesSection;

/// The charts, and what renders them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartsView {
    /// Newest upload first.
    charts: Vec<ChartVersion>,
    /// The version of Helm; `None` if the server has none.
    helm: Option<String>,
    read_at: domain::Timestamp,
}

/// All charts.
#[server(prefix = "/api/fn", endpoint = "charts_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn charts_read() -> AppResult<ChartsView> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    Ok(ChartsView {
        charts: host::into_app_result(hub.list_charts(None).await)?,
        helm: hub.helm_version().map(str::to_owned),
        read_at: hub.clock().now(),
    })
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

/// Deletes a version of a chart; rejected while a workload names it.
#[server(prefix = "/api/fn", endpoint = "chart_delete")]
pub async fn chart_delete(reference: String, version: String) -> AppResult<()> {
    use crate::host;
    let (repository, name) = reference.split_once('/').unwrap_or((&reference, ""));
    host::into_app_result(host::hub()?.delete_chart(&host::actor()?, repository, name, &version).await)
}

/// The page.
#[component]
pub fn ChartsPage() -> impl IntoView {
    let upload = ServerAction::<ChartUpload>::new();
    // An upload is in the event log, which the fleet's topic covers.
    let version = live::watch_version(|| Some(Topic::Fleet));
    let delete = ServerAction::<ChartDelete>::new();
    let changes = move || (upload.version().get(), delete.version().get(), version.get());
    let data = create_resource(changes, |_| charts_read());
    view! {
        <Title text="Charts" />
        <div class="stack">
            <div class="stack-sm">
                <h1 class="title">"Charts"</h1>
                <p class="text-2">
                    "Helm charts of this project: uploaded ones, and those that were fetched from a repository. A version never changes once it is stored, so a revision always means the same chart."
                </p>
            </div>
            {upload_form(upload)}
            {move || delete.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            {render_resource(data, move |view| show_charts(view, delete))}
            <RepositoriesSection />
            <GitRepositoriesSection />
        </div>
    }
    .into_any()
}

fn upload_form(upload: ServerAction<ChartUpload>) -> AnyView {
    let unreadable = RwSignal::new(None::<String>);
    let on_file = Callback::new(move |file: LocalFile| match file.text {
        Ok(archive) => {
            unreadable.set(None);
            upload.dispatch(ChartUpload { archive });
        }
        Err(why) => unreadable.set(Some(format!("{} {why}.", file.name))),
    });
    let busy = upload.pending();
    view! {
        <div class="stack-sm">
            <div class="flex flex-wrap items-center gap-3">
                <label class="btn btn-primary" aria-busy=move || busy.get().to_string()>
                    {icon("upload")}
                    {move || if busy.get() { "Uploading…" } else { "Upload chart" }}
                    <input class="sr-only" type="file" accept=".tgz,.gz,application/gzip" on:change=move |ev| read_picked_archive(&ev, on_file) />
                </label>
                <span class="meta">
                    "A .tgz as " <code>"helm package"</code> " writes it, or "
                    <code>"flotilla chart push FILE.tgz"</code>
                </span>
            </div>
            {move || unreadable.get().map(|why| view! { <p class="field-message hue-degraded">{icon("error")} {why}</p> })}
            {move || match upload.value().get() {
                Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
                Some(Ok(chart)) => {
                    view! {
                        <p class="flex items-center gap-2" role="status">
                            <span class="hue-healthy flex">{icon("healthy")}</span>
                            <span><span class="name">{chart.reference()}</span> {format!(" {} uploaded.", chart.version)}</span>
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

fn show_charts(view: ChartsView, delete: ServerAction<ChartDelete>) -> AnyView {
    let ChartsView { charts, helm, read_at } = view;
    let missing = helm.is_none().then(helm_missing);
    if charts.is_empty() {
        return view! {
            {missing}
            <Empty title="No charts yet" text="Upload a packed chart, then start a workload from it."
                command="flotilla chart push podinfo-6.14.1.tgz" />
        }
        .into_any();
    }
    let row = |chart: ChartVersion| {
        let label = format!("Delete {} {}", chart.reference(), chart.version);
        view! {
            <tr>
                <th scope="row" class="cell-name name">{chart.reference()}</th>
                <td data-label="Version" class="mono">{chart.version.clone()}</td>
                <td data-label="Application" class="mono">{chart.app_version.clone()}</td>
                <td data-label="Kubernetes" class="mono whitespace-nowrap">{chart.kubernetes_range.clone()}</td>
                <td data-label="Description">{chart.description.clone()}</td>
                <td data-label="Stored" class="whitespace-nowrap">{chart.created_by.clone()} ", " <Age since=chart.created_at at=read_at suffix=" ago" /></td>
                <td class="right cell-state">
                    <ActionForm action=delete>
                        <input type="hidden" name="reference" value=chart.reference() />
                        <input type="hidden" name="version" value=chart.version.clone() />
                        <button class="btn btn-sm btn-danger" type="submit" aria-label=label>{icon("trash")} "Delete"</button>
                    </ActionForm>
                </td>
            </tr>
        }
    };
    view! {
        {missing}
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Chart"</th>
                    <th scope="col">"Version"</th>
                    <th scope="col">"Application"</th>
                    <th scope="col">"Kubernetes"</th>
                    <th scope="col">"Description"</th>
                    <th scope="col">"Stored"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{charts.into_iter().map(row).collect_view()}</tbody>
        </table>
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
