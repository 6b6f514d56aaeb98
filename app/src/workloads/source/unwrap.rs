//! The dialog that makes the chart inside an object of another tool the source of the draft: what is carried over, and what is not.

use domain::Finding;
use domain::authorization::UserAction;
use domain::chart_envelope::{ChartUnwrapping, FieldNotCarried, UnwrappedChart};
use domain::workload::Source;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{ConfirmDialog, CopyBlock, FindingList, render_resource_part};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;
use crate::workloads::wizard::WizardStep;

/// The code of the finding about a chart inside an object.
const CHART_IN_OBJECT: &str = "G128";

/// What a draft would have with the chart of its object as the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnwrappingContent {
    name: String,
    /// The revision of the draft.
    revision: i64,
    unwrapping: ChartUnwrapping,
}

/// Reads what a draft would have with the chart of its object as the source.
#[server(prefix = "/api/fn", endpoint = "chart_unwrapping_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn chart_unwrapping_read(name: String) -> AppResult<UnwrappingContent> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    // Read first: a draft that is changed in between is not replaced.
    let revision = host::into_app_result(hub.get_workload(&name).await)?.workload.revision;
    let unwrapping = host::into_app_result(Box::pin(hub.preview_unwrapping(&actor, &name)).await)?;
    Ok(UnwrappingContent { name, revision, unwrapping })
}

/// Makes the chart of the object the source of the draft, if it still has the revision `base_revision`, and redirects to its review.
#[server(prefix = "/api/fn", endpoint = "chart_unwrap")]
pub async fn chart_unwrap(name: String, base_revision: i64) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::into_app_result(Box::pin(hub.unwrap_chart(&actor, &name, Some(base_revision))).await)?;
    leptos_axum::redirect(&WizardStep::Review.path(&name));
    Ok(())
}

/// The link to the dialog, while a finding names a chart inside an object.
pub fn unwrap_offer(findings: Memo<Vec<Finding>>, name: &str) -> AnyView {
    let href = StoredValue::new(paths::unwrap_dialog(name));
    let is_offered =
        Memo::new(move |_| findings.with(|all| all.iter().any(|finding| finding.code == CHART_IN_OBJECT)));
    let offer = move || {
        is_offered.get().then(|| {
            view! {
                <p class="flex flex-wrap items-center gap-2">
                    <a class="btn btn-sm" href=href.get_value()>"Use the chart itself"</a>
                    <span class="meta">"A file contains an object that names a chart. The chart can be the source instead."</span>
                </p>
            }
        })
    };
    view! { {offer} }.into_any()
}

/// The dialog, if the address asks for it.
#[component]
pub fn UnwrapDialog(name: Memo<String>) -> impl IntoView {
    let query = use_query_map();
    let action = ServerAction::<ChartUnwrap>::new();
    let is_open = Memo::new(move |_| query.read().get("dialog").is_some_and(|dialog| dialog == "unwrap"));
    move || {
        is_open.get().then(|| {
            let read = create_resource(move || name.get(), chart_unwrapping_read);
            render_resource_part(read, move |content| show_dialog(content, action))
        })
    }
}

fn show_dialog(content: UnwrappingContent, action: ServerAction<ChartUnwrap>) -> AnyView {
    let UnwrappingContent { name, revision, unwrapping } = content;
    let ChartUnwrapping { chart, source, findings } = unwrapping;
    let back = WizardStep::Source.path(&name);
    let title = match &chart {
        Some(chart) => format!("Use the chart of {} itself?", chart.object),
        None => "No chart can be used".to_owned(),
    };
    let is_possible = source.is_some();
    let unsaved = chart.is_none().then(
        || view! { <p class="text-2">"The stored draft is read. What is typed is stored after a pause."</p> },
    );
    let problems = (!findings.is_empty()).then(|| view! { <FindingList findings=findings /> });
    let content = chart.map(|chart| show_chart(chart, source.as_ref()));
    let buttons = if is_possible {
        dialog_buttons(back.clone(), "Use the chart", "btn btn-primary").into_any()
    } else {
        let close = back.clone();
        view! { <div class="dialog-actions"><a class="btn" href=close>"Close"</a></div> }.into_any()
    };
    view! {
        <ConfirmDialog title=title back=back>
            <ActionForm action=action>
                <Permission action=UserAction::Edit>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="base_revision" value=revision.to_string() />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        {problems}
                        {unsaved}
                        {content}
                    </div>
                    {buttons}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// What is carried over, and what is not.
fn show_chart(chart: UnwrappedChart, source: Option<&Source>) -> AnyView {
    let carried = source.map(|source| describe_source(&chart, source));
    let carried = carried.map(|text| view! { <p>{text} " No cluster changes before the next publish."</p> });
    let names: Vec<String> = chart.policies.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let policies = (!names.is_empty()).then(
        || view! { <p class="text-2">"Policies, unless they are set differently: " {names.join(", ")}</p> },
    );
    let values = chart.values;
    let values = (!values.is_empty()).then(|| {
        view! {
            <details class="fold">
                <summary>"Values"</summary>
                <CopyBlock text=values label="values.yaml".to_owned() />
            </details>
        }
    });
    let item = |FieldNotCarried { object, path, reason }: FieldNotCarried| {
        let place = format!("{object} {path}").trim_end().to_owned();
        view! { <li><span class="name">{place}</span> ": " {reason}</li> }
    };
    let left = match chart.not_carried.len() {
        0 => view! { <p class="text-2">"Everything of the object is carried over."</p> }.into_any(),
        many => view! {
            <section aria-labelledby="not-carried">
                <h3 class="section" id="not-carried">{format!("Not carried over: {many}")}</h3>
                <ul class="stack-sm">{chart.not_carried.into_iter().map(item).collect_view()}</ul>
            </section>
        }
        .into_any(),
    };
    view! { {carried} {policies} {values} {left} }.into_any()
}

/// What the draft gets, in a sentence.
fn describe_source(chart: &UnwrappedChart, source: &Source) -> String {
    let namespace = match &*chart.namespace {
        "" => String::new(),
        namespace => format!(" in namespace {namespace}"),
    };
    format!(
        "The draft gets {} instead of its files, as release {}{namespace}.",
        source.summary(),
        chart.release_name
    )
}

#[cfg(test)]
mod tests {
    use domain::chart::ChartSource;
    use domain::chart_envelope::ChartAddress;
    use serde_json::json;

    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn s3_2_the_dialog_shows_what_is_carried_over_and_every_field_that_is_not() {
        let chart = UnwrappedChart {
            object: "HelmChart web".to_owned(),
            address: ChartAddress::Repository {
                url: "https://charts.example.com".to_owned(),
                chart: "web".to_owned(),
                version: "1.0.0".to_owned(),
            },
            release_name: "front".to_owned(),
            namespace: "shop".to_owned(),
            values: String::new(),
            policies: serde_json::Map::from_iter([("prune".to_owned(), json!(false))]),
            not_carried: vec![FieldNotCarried {
                object: "HelmChart web".to_owned(),
                path: "/spec/bootstrap".to_owned(),
                reason: "Not before the agent.".to_owned(),
            }],
        };
        let named = ChartSource {
            chart: "acme/web".to_owned(),
            version: "1.0.0".to_owned(),
            ..ChartSource::default()
        };
        let page = render_html(move || show_chart(chart, Some(&Source::Chart(named))));
        for expected in [
            "The draft gets chart acme/web 1.0.0 instead of its files, as release front in namespace shop.",
            "prune: false",
            "Not carried over: 1",
            "HelmChart web /spec/bootstrap",
            "Not before the agent.",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
    }
}
