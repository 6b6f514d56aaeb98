//! The dialog that continues an installed Helm release as a workload: chart and values are read on the cluster when it opens.

use domain::authorization::UserAction;
use domain::helm_release::{HelmReleaseAdoption, HelmReleaseDetails};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{ConfirmDialog, CopyBlock, ErrorBanner, render_resource_part};
use crate::errors::{AppError, AppResult};
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;

/// What a cluster has of a Helm release; the values may contain secrets. A failure is part of the dialog.
#[server(prefix = "/api/fn", endpoint = "helm_release_read")]
pub async fn helm_release_read(
    cluster: String,
    namespace: String,
    release: String,
) -> AppResult<Result<HelmReleaseDetails, AppError>> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    Ok(hub.read_helm_release(&actor, &cluster, &namespace, &release).await.map_err(AppError::from))
}

/// Creates the draft that continues a Helm release.
#[server(prefix = "/api/fn", endpoint = "helm_release_adopt")]
pub async fn helm_release_adopt(
    cluster: String,
    namespace: String,
    release: String,
    adoption: HelmReleaseAdoption,
) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let adopted = Box::pin(hub.adopt_helm_release(&actor, (&cluster, &namespace, &release), adoption)).await;
    let workload = host::into_app_result(adopted)?;
    leptos_axum::redirect(&crate::workloads::wizard::WizardStep::Review.path(&workload.name));
    Ok(())
}

/// The dialog, if the address asks for it.
#[component]
pub fn AdoptionDialog(cluster: Memo<String>) -> impl IntoView {
    let query = use_query_map();
    let action = ServerAction::<HelmReleaseAdopt>::new();
    let named = Memo::new(move |_| {
        let query = query.read();
        let part = |name: &str| query.get(name).unwrap_or_default();
        (part("dialog") == "adopt").then(|| (part("namespace"), part("release")))
    });
    move || {
        named.get().map(|(namespace, release)| {
            let read = create_resource(
                move || (cluster.get(), namespace.clone(), release.clone()),
                |(cluster, namespace, release)| helm_release_read(cluster, namespace, release),
            );
            render_resource_part(read, move |found| show_dialog(found, &cluster.get_untracked(), action))
        })
    }
}

fn show_dialog(
    found: Result<HelmReleaseDetails, AppError>,
    cluster: &str,
    action: ServerAction<HelmReleaseAdopt>,
) -> AnyView {
    let back = paths::below_cluster_dialog(cluster, "adopt");
    let details = match found {
        Ok(details) => details,
        Err(error) => {
            return view! {
                <ConfirmDialog title="The Helm release can't be read".to_owned() back=back.clone()>
                    <ErrorBanner error=error />
                    <div><a class="btn" href=back>"Close"</a></div>
                </ConfirmDialog>
            }
            .into_any();
        }
    };
    let title = format!("Continue {} as a workload?", details.name);
    let HelmReleaseDetails {
        cluster,
        namespace,
        name,
        revision,
        status,
        chart_name,
        chart_version,
        values,
        charts,
    } = details;
    let summary = format!(
        "Revision {revision}, {status}, from chart {chart_name} {chart_version} in namespace {namespace}."
    );
    let not_deployed = (status != "deployed")
        .then(|| view! { <p class="warn-box hue-drifted">"The revision is not deployed: its objects may be incomplete."</p> });
    let shown_values = match &*values {
        "" => view! { <p class="text-2">"It has no values of its own."</p> }.into_any(),
        _ => view! {
            <details class="fold">
                <summary>"Values"</summary>
                <CopyBlock text=values label="values.yaml".to_owned() />
            </details>
        }
        .into_any(),
    };
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <div class="stack-sm">
            {action_error(action.value())}
            <p>{summary}</p>
            {not_deployed}
            {shown_values}
            <p class="text-2">
                "The draft has the same chart, version and values. Nothing changes on the cluster until it is published; then the objects are \
                 taken over without a restart, as far as they are the same."
            </p>
            </div>
            <ActionForm action=action>
                <Permission action=UserAction::AdoptHelmRelease>
                    <div class="stack-sm">
                        <input type="hidden" name="cluster" value=cluster />
                        <input type="hidden" name="namespace" value=namespace />
                        <input type="hidden" name="release" value=name.clone() />
                        <div class="field">
                            <label class="field-label" for="adopt-workload">"Workload name"</label>
                            <input class="input input-mono" id="adopt-workload" name="adoption[workload]" value=name required=true maxlength="63"
                                autocomplete="off" autocapitalize="off" spellcheck="false" />
                        </div>
                        {chart_field(&charts, &chart_name, &chart_version)}
                        {dialog_buttons(back, "Create draft", "btn btn-primary")}
                    </div>
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// The chart: chosen from those that match, or typed if the project has none of them.
fn chart_field(charts: &[String], name: &str, version: &str) -> AnyView {
    if charts.is_empty() {
        let missing = format!(
            "The project has no chart {name} {version}. Add its repository or upload it on the page "
        );
        return view! {
            <div class="field">
                <label class="field-label" for="adopt-chart">"Chart"</label>
                <input class="input input-mono" id="adopt-chart" name="adoption[chart]" placeholder=format!("repository/{name}") required=true
                    maxlength="200" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="adopt-chart-help" />
                <p class="field-help" id="adopt-chart-help">
                    {missing} <a class="link" href=paths::CHARTS>"Charts"</a>
                    ", or write one of a registry, which has no list of its charts."
                </p>
            </div>
        }
        .into_any();
    }
    let options = charts
        .iter()
        .map(|chart| view! { <option value=chart.clone()>{chart.clone()}</option> })
        .collect_view();
    view! {
        <div class="field">
            <label class="field-label" for="adopt-chart">"Chart"</label>
            <select class="select" id="adopt-chart" name="adoption[chart]">{options}</select>
        </div>
    }
    .into_any()
}
