//! A new workload: its name, its namespace, and how to begin. The draft is stored at once; the wizard goes on with it.

use domain::Finding;
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use crate::components::{Said, icon};
use crate::errors::Answer;
use crate::paths;

/// How a new workload begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Begin {
    /// With a container and a form for it.
    #[default]
    Containers,
    /// With YAML that is there already.
    Files,
}

/// The form, as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewForm {
    /// Name of the workload.
    pub name: String,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// How to begin.
    pub begin: Begin,
}

/// Stores a draft, then shows its first step.
#[server(prefix = "/api/fn", endpoint = "workload_create")]
pub async fn workload_create(form: NewForm) -> Answer<()> {
    use super::wizard::Step;
    use crate::errors::AppError;
    use crate::host;
    use domain::workload::{NewWorkload, Source, WorkloadSpec};
    let actor = host::actor()?;
    let (name, namespace) = (form.name.trim().to_owned(), form.namespace.trim().to_owned());
    if let Some(finding) = domain::name::check_namespace(&namespace) {
        return Err(host::refused(AppError::finding(finding)));
    }
    let files = match form.begin {
        Begin::Containers => vec![super::skeleton::deployment(&name)],
        Begin::Files => Vec::new(),
    };
    let spec = WorkloadSpec { namespace, source: Source::Yaml { files }, ..WorkloadSpec::default() };
    let new = NewWorkload { name, spec, ..NewWorkload::default() };
    let workload = host::answer(host::hub()?.workload_create(&actor, new).await)?;
    leptos_axum::redirect(&Step::Source.path(&workload.name));
    Ok(())
}

/// The page.
#[component]
pub fn NewPage() -> impl IntoView {
    let action = ServerAction::<WorkloadCreate>::new();
    let (name, namespace) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let busy = action.pending();
    view! {
        <Title text="New workload" />
        <ActionForm action=action attr:class="wizard-step">
            <div class="fields max-w-140">
                <h1 class="title">"New workload"</h1>
                {move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
                {name_field("name", "Workload name", "hello-app", name, domain::name::check_workload)}
                {name_field("namespace", "Namespace", "web", namespace, domain::name::check_namespace)}
                <fieldset class="stack-sm">
                    <legend class="field-label pb-1">"Begin with"</legend>
                    {begin("containers", "A container", "A form for image, ports, environment and sizes; the YAML stands beside it.", true)}
                    {begin("files", "YAML", "Paste manifests or upload files.", false)}
                </fieldset>
            </div>
            <div class="footbar footbar-edge">
                <span class="text-2">"A draft touches no cluster."</span>
                <span class="flex gap-2">
                    <a class="btn" href=paths::WORKLOADS>
                        "Cancel"
                    </a>
                    <button class="btn btn-primary" type="submit" aria-busy=move || busy.get().to_string()>
                        {move || if busy.get() { "Storing…" } else { "Continue to Source" }}
                    </button>
                </span>
            </div>
        </ActionForm>
    }
    .into_any()
}

fn begin(value: &'static str, word: &'static str, about: &'static str, chosen: bool) -> impl IntoView {
    let id = format!("begin-{value}");
    view! {
        <label class="choice items-start">
            <input type="radio" class="radio mt-px" name="form[begin]" value=value checked=chosen aria-describedby=id.clone() />
            <span>
                <span class="strong">{word}</span>
                <span class="field-help block" id=id>
                    {about}
                </span>
            </span>
        </label>
    }
}
/// A name with its rule: told at the field while one types.
fn name_field(
    part: &'static str,
    label: &'static str,
    example: &'static str,
    value: RwSignal<String>,
    rule: fn(&str) -> Option<Finding>,
) -> impl IntoView {
    let wrong = Memo::new(move |_| value.with(|text| if text.is_empty() { None } else { rule(text) }));
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
