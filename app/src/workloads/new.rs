//! The form of a new workload: name, namespace and starting point. It stores the draft, then the wizard opens.

use domain::Finding;
use domain::authorization::UserAction;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::{ErrorBanner, icon};
use crate::errors::AppResult;
use crate::live;
use crate::paths;
use crate::permission::Permission;

/// The starting point of a new workload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StartFrom {
    /// A Deployment with one container, edited in the form.
    #[default]
    Containers,
    /// Existing YAML.
    Files,
    /// A Helm chart.
    Chart,
    /// A Git repository.
    Git,
}

/// The form as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewForm {
    /// Name of the workload.
    pub name: String,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// The starting point.
    pub start_from: StartFrom,
    /// The chart to start from; empty to choose it later.
    pub chart: String,
    /// Its version.
    pub version: String,
}

/// Creates a workload with a draft and redirects to the first step.
#[server(prefix = "/api/fn", endpoint = "workload_create")]
pub async fn workload_create(form: NewForm) -> AppResult<()> {
    use super::wizard::WizardStep;
    use crate::errors::AppError;
    use crate::host;
    use domain::chart::ChartSource;
    use domain::remote::RemoteSource;
    use domain::workload::{NewWorkload, Source, WorkloadSpec};
    let actor = host::actor()?;
    let (name, namespace) = (form.name.trim().to_owned(), form.namespace.trim().to_owned());
    if let Some(finding) = domain::name_check::check_namespace(&namespace) {
        return Err(host::with_status(AppError::from_finding(finding)));
    }
    let source = match form.start_from {
        StartFrom::Containers => Source::Yaml { files: vec![super::source::starter::starter_file(&name)] },
        StartFrom::Files => Source::default(),
        StartFrom::Chart => Source::Chart(ChartSource {
            chart: form.chart.trim().to_owned(),
            version: form.version.trim().to_owned(),
            ..ChartSource::default()
        }),
        StartFrom::Git => Source::Git(Box::<RemoteSource>::default()),
    };
    let spec = WorkloadSpec { namespace, source, ..WorkloadSpec::default() };
    let new = NewWorkload { name, spec, ..NewWorkload::default() };
    let workload = host::into_app_result(host::hub()?.create_workload(&actor, new).await)?;
    leptos_axum::redirect(&WizardStep::Source.path(&workload.name));
    Ok(())
}

/// The page.
#[component]
pub fn NewPage() -> impl IntoView {
    let action = ServerAction::<WorkloadCreate>::new();
    let query = use_query_map();
    let chart = query.read_untracked().get("chart").unwrap_or_default();
    let version = query.read_untracked().get("version").unwrap_or_default();
    // The name of the chart is a usual name for its workload.
    let suggested = chart.rsplit('/').next().unwrap_or_default().to_owned();
    let (name, namespace) = (RwSignal::new(suggested), RwSignal::new(String::new()));
    let busy = action.pending();
    let from_chart = !chart.is_empty();
    let about_chart = match &*chart {
        "" => "A chart of this project, with values that may differ per cluster.".to_owned(),
        chart => format!("{chart} {version}, with values that may differ per cluster."),
    };
    view! {
        <Title text="New workload" />
        <ActionForm action=action attr:class="wizard-step">
            <div class="fields max-w-140">
                <h1 class="title">"New workload"</h1>
                {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
                {name_field("name", "Workload name", "hello-app", name, domain::name_check::check_workload_name)}
                {name_field("namespace", "Namespace", "web", namespace, domain::name_check::check_namespace)}
                <fieldset class="stack-sm">
                    <legend class="field-label pb-1">"Start from"</legend>
                    {start_option("containers", "A container", "A form for image, ports, environment and resources, next to its YAML.", !from_chart)}
                    {start_option("files", "YAML", "Paste manifests or upload files.", false)}
                    {start_option("chart", "Helm chart", about_chart, from_chart)}
                    {start_option("git", "Git repository", "Manifests or a chart at a path of a branch, followed as it moves.", false)}
                    <input type="hidden" name="form[chart]" value=chart />
                    <input type="hidden" name="form[version]" value=version />
                </fieldset>
            </div>
            <div class="footbar footbar-edge">
                <span class="text-2">"A draft changes no cluster."</span>
                <span class="flex gap-2">
                    <a class="btn" href=paths::WORKLOADS>
                        "Cancel"
                    </a>
                    <Permission action=UserAction::Edit>
                        <button class="btn btn-primary" type="submit" aria-busy=move || busy.get().to_string()>
                            {move || if busy.get() { "Saving…" } else { "Continue to Source" }}
                        </button>
                    </Permission>
                </span>
            </div>
        </ActionForm>
    }
    .into_any()
}

fn start_option(
    value: &'static str,
    word: &'static str,
    about: impl Into<String>,
    checked: bool,
) -> impl IntoView {
    let (id, about) = (format!("begin-{value}"), about.into());
    view! {
        <label class="choice items-start">
            <input type="radio" class="radio mt-px" name="form[start_from]" value=value checked=checked aria-describedby=id.clone() />
            <span>
                <span class="strong">{word}</span>
                <span class="field-help block" id=id>
                    {about}
                </span>
            </span>
        </label>
    }
}

/// A field for a name, checked by `rule`: once it was left, or the form was submitted with it, also while a person types.
fn name_field(
    part: &'static str,
    label: &'static str,
    example: &'static str,
    value: RwSignal<String>,
    rule: fn(&str) -> Option<Finding>,
) -> impl IntoView {
    let is_checked = RwSignal::new(false);
    let wrong = Memo::new(move |_| {
        if !is_checked.get() {
            return None;
        }
        value.with(|text| if text.is_empty() { None } else { rule(text) })
    });
    // The finding moves what is below it, as the button that is being pressed.
    let check = move || {
        live::press::run_after_release(move || {
            let _ = is_checked.try_set(true);
        });
    };
    view! {
        <div class="field">
            <label class="field-label" for=part>
                {label}
            </label>
            <input
                class="input input-mono"
                id=part
                name=format!("form[{part}]")
                placeholder=example
                value=value.get_untracked()
                required=true
                maxlength="63"
                pattern="[a-z0-9]([a-z0-9\\-]*[a-z0-9])?"
                title="Lower-case letters, digits and dashes; a letter or digit at both ends."
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                aria-invalid=move || wrong.with(Option::is_some).to_string()
                aria-describedby=format!("{part}-help")
                on:input=move |ev| value.set(event_target_value(&ev))
                on:change=move |_| check()
                on:invalid=move |_| check()
            />
            <p class="field-help" id=format!("{part}-help")>
                {move || match wrong.get() {
                    Some(finding) => {
                        view! {
                            <span class="field-message hue-degraded">
                                {icon("error")}
                                <span>
                                    <b class="code">{finding.code}</b>
                                    {format!(" {} {}", finding.message, finding.hint)}
                                </span>
                            </span>
                        }
                            .into_any()
                    }
                    None => "Lower-case letters, digits and dashes.".into_any(),
                }}
            </p>
        </div>
    }
}
