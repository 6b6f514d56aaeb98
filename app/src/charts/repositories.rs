//! The repositories that charts are fetched from: the list with the age of each index, and the form for a new one.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::chart_repository::{ChartRepository, RepositoryLogin};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::form_field::{TextField, secret_field};
use super::removal::use_removal;
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{Age, ConfirmDialog, ErrorBanner, clear_after_success, icon, render_resource};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;

/// The repositories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryList {
    /// By name.
    repositories: Vec<ChartRepository>,
    read_at: Timestamp,
}

/// A repository as entered in the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositoryForm {
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// User name; empty for a public repository or a token.
    pub user_name: String,
    /// Password or token; empty for a public repository.
    pub secret: String,
}

/// All repositories.
#[server(prefix = "/api/fn", endpoint = "chart_repositories_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_repositories_read() -> AppResult<RepositoryList> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    Ok(RepositoryList {
        repositories: host::into_app_result(hub.list_chart_repositories().await)?,
        read_at: hub.clock().now(),
    })
}

/// Adds a repository and reads its index.
#[server(prefix = "/api/fn", endpoint = "chart_repository_add")]
pub async fn chart_repository_add(form: RepositoryForm) -> AppResult<ChartRepository> {
    use crate::host;
    use domain::chart_repository::{NewChartRepository, RepositoryCredentials};
    let RepositoryForm { name, url, user_name, secret } = form;
    let credentials = match (user_name.trim().is_empty(), secret.is_empty()) {
        (true, true) => RepositoryCredentials::None,
        (true, false) => RepositoryCredentials::Bearer { token: secret },
        (false, _) => {
            RepositoryCredentials::Basic { user_name, password: secret, token_endpoint: String::new() }
        }
    };
    let new = NewChartRepository { name: name.trim().to_owned(), url, plain_http: false, credentials };
    host::into_app_result(host::hub()?.create_chart_repository(&host::actor()?, new).await)
}

/// Reads the index of a repository now.
#[server(prefix = "/api/fn", endpoint = "chart_repository_refresh")]
pub async fn chart_repository_refresh(name: String) -> AppResult<ChartRepository> {
    use crate::host;
    host::into_app_result(host::hub()?.refresh_chart_repository(&host::actor()?, &name).await)
}

/// Removes a repository; rejected while a workload names a chart of it.
#[server(prefix = "/api/fn", endpoint = "chart_repository_remove")]
pub async fn chart_repository_remove(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.remove_chart_repository(&host::actor()?, &name).await)?;
    leptos_axum::redirect(paths::CHARTS);
    Ok(())
}

/// The section of the page.
#[component]
pub fn RepositoriesSection() -> impl IntoView {
    let add = ServerAction::<ChartRepositoryAdd>::new();
    let refresh = ServerAction::<ChartRepositoryRefresh>::new();
    let remove = ServerAction::<ChartRepositoryRemove>::new();
    let removed = use_removal("remove-repository");
    let version = live::watch_version(|| Some(Topic::Fleet));
    let changes = move || (add.version().get(), refresh.version().get(), remove.version().get());
    let data = create_resource(move || (changes(), version.get()), |_| chart_repositories_read());
    view! {
        <section class="stack-sm" aria-labelledby="repositories">
            <h2 class="section" id="repositories">"Chart repositories"</h2>
            <p class="text-2">
                "Charts are fetched from here when a workload names them, as repository/chart, and are then stored: what is published does not need the repository."
            </p>
            {action_error(refresh.value())}
            {render_resource(data, move |list| show_repositories(list, refresh))}
            {show_form(add)}
            {move || removed.get().map(|name| removal_dialog(name, remove))}
        </section>
    }
    .into_any()
}

fn show_repositories(list: RepositoryList, refresh: ServerAction<ChartRepositoryRefresh>) -> AnyView {
    let RepositoryList { repositories, read_at } = list;
    if repositories.is_empty() {
        return view! {
            <p class="text-3">
                "No repositories. Add one here, or with " <code>"flotilla chart repo add podinfo oci://ghcr.io/stefanprodan/charts"</code> "."
            </p>
        }
        .into_any();
    }
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Repository"</th>
                    <th scope="col">"URL"</th>
                    <th scope="col">"Sign-in"</th>
                    <th scope="col">"Charts"</th>
                    <th scope="col">"Index read"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>
                {repositories.into_iter().map(|one| show_row(one, read_at, refresh)).collect_view()}
            </tbody>
        </table>
    }
    .into_any()
}

fn show_row(
    repository: ChartRepository,
    read_at: Timestamp,
    refresh: ServerAction<ChartRepositoryRefresh>,
) -> AnyView {
    let ChartRepository { name, url, login, status, .. } = repository;
    let login = match login {
        RepositoryLogin::None => "none".to_owned(),
        RepositoryLogin::Basic { user_name, .. } => user_name,
        RepositoryLogin::Bearer => "token".to_owned(),
    };
    let charts = match status.chart_count {
        Some(count) => count.to_string(),
        None if url.starts_with("oci://") => "no list".to_owned(),
        None => "unknown".to_owned(),
    };
    let age = match status.refreshed_at {
        Some(at) => view! { <Age since=at at=read_at suffix=" ago" /> }.into_any(),
        None => "never".into_any(),
    };
    let failure = status.failure.map(|failure| {
        view! { <p class="field-message hue-degraded">{icon("error")} <span>{failure.message} " " {failure.hint}</span></p> }
    });
    let changed = (!status.changed_versions.is_empty()).then(|| {
        let names = status.changed_versions.join(", ");
        view! {
            <p class="field-message hue-degraded">
                {icon("error")}
                <span>{format!("Now publishes other content for {names}. The stored charts stay in use.")}</span>
            </p>
        }
    });
    let (refresh_label, remove_label) = (format!("Refresh {name}"), format!("Remove {name}"));
    let (refreshed, removal) = (name.clone(), paths::chart_repository_removal(&name));
    view! {
        <tr>
            <th scope="row" class="cell-name name">{name}</th>
            <td data-label="URL" class="mono break-all">{url} {failure} {changed}</td>
            <td data-label="Sign-in">{login}</td>
            <td data-label="Charts">{charts}</td>
            <td data-label="Index read" class="whitespace-nowrap">{age}</td>
            <td class="right cell-state">
                <div class="flex flex-wrap justify-end gap-2">
                    <ActionForm action=refresh>
                        <Permission action=UserAction::ChangeCharts>
                            <input type="hidden" name="name" value=refreshed />
                            <button class="btn btn-sm" type="submit" aria-label=refresh_label>{icon("refresh")} "Refresh"</button>
                        </Permission>
                    </ActionForm>
                    <a class="btn btn-sm btn-danger" href=removal aria-label=remove_label>{icon("trash")} "Remove"</a>
                </div>
            </td>
        </tr>
    }
    .into_any()
}

fn removal_dialog(name: String, remove: ServerAction<ChartRepositoryRemove>) -> AnyView {
    view! {
        <ConfirmDialog title=format!("Remove the repository {name}?") back=paths::CHARTS.to_owned()>
            <ActionForm action=remove>
                <Permission action=UserAction::ManageRepositories>
                    <input type="hidden" name="name" value=name />
                    <div class="dialog-body">
                        {action_error(remove.value())}
                        <p>"Its entry with its credentials, its index and the charts that were fetched from it are deleted."</p>
                        <p>"A repository with a chart that a draft or a revision of a workload names is not removed."</p>
                    </div>
                    {dialog_buttons(paths::CHARTS.to_owned(), "Remove repository", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

fn show_form(add: ServerAction<ChartRepositoryAdd>) -> AnyView {
    let form = clear_after_success(add.value());
    let result = move || match add.value().get() {
        Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
        Some(Ok(added)) => {
            let text = match added.status.failure {
                None => format!("{} was added.", added.name),
                Some(failure) => {
                    format!("{} was added, but can't be read now: {}", added.name, failure.message)
                }
            };
            view! { <p role="status">{text}</p> }.into_any()
        }
        None => ().into_any(),
    };
    view! {
        <details class="fold">
            <summary>"Add repository"</summary>
            <ActionForm action=add node_ref=form attr:class="stack-md pt-3 max-w-180" attr:data-guarded="">
                <Permission action=UserAction::ManageRepositories>
                    {result}
                    {TextField { id: "repository-name", name: "form[name]", label: "Name", placeholder: "bitnami", max_length: 63, is_required: true, ..TextField::default() }.view()}
                    {TextField { id: "repository-url", name: "form[url]", label: "URL", placeholder: "https://charts.example.com or oci://ghcr.io/charts", help: "The folder with index.yaml, or the path of an OCI registry.", max_length: 500, is_required: true }.view()}
                    {TextField { id: "repository-user", name: "form[user_name]", label: "User name", help: "Empty for a public repository, and for a bearer token.", max_length: 200, ..TextField::default() }.view()}
                    {secret_field("repository-secret", "form[secret]", "Password or token", "Sent to this server only, and never shown again.")}
                    <div>
                        <button class="btn btn-primary" type="submit" disabled=move || add.pending().get()>
                            {move || if add.pending().get() { "Adding…" } else { "Add repository" }}
                        </button>
                    </div>
                </Permission>
            </ActionForm>
        </details>
    }
    .into_any()
}
