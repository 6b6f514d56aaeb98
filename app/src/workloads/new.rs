//! A new workload from YAML: name, namespace, files, placement. A draft may have findings; only publishing is refused.

use domain::Finding;
use domain::cluster::Cluster;
use domain::workload::SourceFile;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::calls::candidates_read;
use super::files::{Drafts, FilesEditor};
use super::form::{LiveMatch, PlacementFields};
use super::placement_form::{By, PlacementForm};
use crate::components::findings::{tally, worst};
use crate::components::{Said, icon, loaded};
use crate::errors::Answer;

/// The form, as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewForm {
    /// Name of the workload.
    pub name: String,
    /// Namespace for objects that name none.
    pub namespace: String,
    /// The files.
    pub files: Vec<SourceFile>,
}

/// Stores a draft, then shows it (`then=draft`) or its review (`then=review`).
#[server(prefix = "/api/fn", endpoint = "workload_create")]
pub async fn workload_create(form: NewForm, placement: PlacementForm, then: String) -> Answer<()> {
    use super::source::source_of;
    use crate::errors::AppError;
    use crate::{host, paths};
    use domain::workload::{NewWorkload, WorkloadSpec};
    let actor = host::actor()?;
    let source = source_of(form.files).map_err(host::refused)?;
    let placement = placement.placement().map_err(|findings| host::refused(AppError::Invalid(findings)))?;
    let spec = WorkloadSpec {
        namespace: form.namespace.trim().to_owned(),
        source,
        placement,
        ..WorkloadSpec::default()
    };
    let new = NewWorkload { name: form.name.trim().to_owned(), spec, ..NewWorkload::default() };
    let workload = host::answer(host::hub()?.workload_create(&actor, new).await)?;
    let next =
        if then == "review" { paths::publish(&workload.name) } else { paths::workload(&workload.name) };
    leptos_axum::redirect(&next);
    Ok(())
}

/// The page.
#[component]
pub fn NewPage() -> impl IntoView {
    let action = ServerAction::<WorkloadCreate>::new();
    let clusters = Resource::new(|| (), |()| candidates_read());
    view! {
        <Title text="New workload" />
        {loaded(clusters, move |clusters| view! { <NewWorkloadForm action=action clusters=clusters /> }.into_any())}
    }
    .into_any()
}

#[component]
fn NewWorkloadForm(action: ServerAction<WorkloadCreate>, clusters: Vec<Cluster>) -> impl IntoView {
    let begin = PlacementForm::from_query(&use_query_map().get_untracked());
    let placement =
        RwSignal::new(begin.unwrap_or(PlacementForm { by: By::Names, ..PlacementForm::default() }));
    let clusters = StoredValue::new(clusters);
    let drafts = Drafts::new(&[]);
    let (name, namespace) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    let findings = drafts.findings(name.into(), namespace.into());
    view! {
        <ActionForm action=action attr:class="stack">
            <div class="stack-md">
                <h1 class="title">"New workload"</h1>
                {move || action.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
                <div class="field-row max-w-160">
                    {name_field("name", "Workload name", "hello-app", name, domain::name::check_workload)}
                    {name_field("namespace", "Namespace", "web", namespace, domain::name::check_namespace)}
                </div>
            </div>
            <section class="stack-sm" aria-labelledby="manifests">
                <h2 class="section" id="manifests">
                    "Manifests"
                </h2>
                <FilesEditor drafts=drafts findings=findings prefix="form" />
            </section>
            <section class="stack-md" aria-labelledby="where">
                <h2 class="section" id="where">
                    "Where it belongs"
                </h2>
                <div class="grid gap-10 lg:grid-cols-[372px_minmax(0,1fr)]">
                    <PlacementFields form=placement clusters=clusters />
                    <LiveMatch form=placement clusters=clusters current=StoredValue::new(Vec::new()) />
                </div>
            </section>
            <Foot findings=findings busy=action.pending() />
        </ActionForm>
    }
    .into_any()
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

/// Findings left, verbs right. Findings do not stop a draft.
#[component]
fn Foot(findings: Memo<Vec<Finding>>, busy: Memo<bool>) -> impl IntoView {
    view! {
        <div class="footbar -mx-8 max-sm:-mx-4">
            <span class="reason">
                {move || findings.with(|all| worst(all).mark())}
                <span>
                    {move || findings.with(|all| tally(all))}
                    " · a draft touches no cluster"
                </span>
            </span>
            <span class="flex gap-2">
                <button class="btn" type="submit" name="then" value="draft" aria-busy=move || busy.get().to_string()>
                    "Save draft"
                </button>
                <button class="btn btn-primary" type="submit" name="then" value="review" aria-busy=move || busy.get().to_string()>
                    {move || if busy.get() { "Storing…" } else { "Save and review" }}
                </button>
            </span>
        </div>
    }
    .into_any()
}
