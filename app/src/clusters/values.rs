//! The values of a cluster, which templates read as `cluster.values.KEY` (S4-7): a map as YAML or JSON.

use domain::authorization::UserAction;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::error::action_error;
use crate::components::{Banner, Editor, StatusStyle, render_resource_part};
use crate::errors::AppResult;
use crate::permission::Permission;
use crate::resource::{count_successes, create_resource};

/// The name of the values in the editor.
const VALUES_FILE: &str = "values.yaml";

/// The values as YAML; empty if there are none.
#[server(prefix = "/api/fn", endpoint = "cluster_values_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn cluster_values_read(name: String) -> AppResult<ClusterValues> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let summary = host::into_app_result(hub.get_cluster(&name).await)?;
    let summary = host::into_app_result(hub.hide_secrets(&actor, summary).await)?;
    Ok(ClusterValues { name, text: format_values(summary.cluster.values) })
}

/// The values of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterValues {
    /// Name of the cluster.
    pub name: String,
    /// The values as YAML.
    pub text: String,
}

/// Replaces the values of a cluster; rejected if they are no longer `base`, the text that the form was rendered with.
#[server(prefix = "/api/fn", endpoint = "cluster_set_values")]
pub async fn cluster_set_values(name: String, base: String, values: String) -> AppResult<()> {
    use crate::{errors::AppError, host, paths};
    use domain::request::ClusterPatch;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let normalize = |text: String| text.replace("\r\n", "\n");
    let (base, values) = (normalize(base), normalize(values));
    if let Some(finding) = crate::parsing::parse_text(|| domain::chart::check_values("The values", &values)) {
        return Err(host::with_status(AppError::from_finding(finding)));
    }
    let values = crate::parsing::parse_text(|| domain::deployment::read_chart_values(&values));
    let cluster = host::into_app_result(hub.get_cluster(&name).await)?.cluster;
    if format_values(cluster.values) != base {
        return Err(host::with_status(AppError::RevisionConflict { current: cluster.revision }));
    }
    let edit = ClusterPatch { values: Some(values), ..ClusterPatch::default() };
    host::into_app_result(hub.edit_cluster(&actor, &name, edit, Some(cluster.revision)).await)?;
    leptos_axum::redirect(&paths::cluster_tab(&name, paths::ClusterTab::Config));
    Ok(())
}

#[cfg(feature = "ssr")]
fn format_values(values: serde_json::Map<String, serde_json::Value>) -> String {
    if values.is_empty() {
        return String::new();
    }
    domain::manifest::yaml_value::write(&serde_json::Value::Object(values))
}

/// The editor. Not part of the live page: a change on the cluster would not wait until the user has finished typing.
#[component]
pub fn ValuesEditor(name: Memo<String>) -> impl IntoView {
    let action = ServerAction::<ClusterSetValues>::new();
    let saves = count_successes(action.value());
    let data = create_resource(move || (name.get(), saves.get()), |(name, _)| cluster_values_read(name));
    render_resource_part(data, move |stored| show_editor(stored, action))
}

fn show_editor(stored: ClusterValues, action: ServerAction<ClusterSetValues>) -> AnyView {
    let findings = Signal::derive(move || match action.value().get() {
        Some(Err(error)) => error.findings().to_vec(),
        _ => Vec::new(),
    });
    let is_empty = stored.text.is_empty();
    // Without script, the error of a submission is in the page that follows it.
    let is_open = !is_empty || untrack(|| matches!(action.value().get(), Some(Err(_))));
    let saved = move || {
        let is_saved = matches!(action.value().get(), Some(Ok(())));
        is_saved.then(|| {
            view! {
                <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
                    <p>
                        <b>"Values saved."</b>
                        " Workloads whose templates read them are rendered again."
                    </p>
                </Banner>
            }
        })
    };
    view! {
        <section class="stack-sm max-w-180" aria-labelledby="values">
            <h2 class="section" id="values">
                "Values"
            </h2>
            <p class="text-2">
                "A map as YAML or JSON. Templates read it as " <code>"cluster.values.KEY"</code> "."
            </p>
            {saved}
            {is_empty.then(|| view! { <p class="text-3">"No values."</p> })}
            <details class="fold" open=is_open>
                <summary>"Edit values"</summary>
            <ActionForm action=action attr:class="stack-sm pt-2 pb-4" attr:data-guarded="">
                <Permission action=UserAction::EditCluster>
                    {action_error(action.value())}
                    <input type="hidden" name="name" value=stored.name />
                    <input type="hidden" name="base" value=stored.text.clone() />
                    <Editor field="values" file=Signal::stored(VALUES_FILE.to_owned()) text=stored.text findings=findings
                        on_text=Callback::new(|_| ()) />
                    <div>
                        <button class="btn" type="submit">
                            "Save values"
                        </button>
                    </div>
                </Permission>
            </ActionForm>
            </details>
        </section>
    }
    .into_any()
}
