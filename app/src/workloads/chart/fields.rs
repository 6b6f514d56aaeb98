//! The fields of a chart, with findings while a person types.

use domain::chart::ChartSource;
use domain::finding::{Finding, sort_findings};
use domain::workload::{Source, WorkloadSpec};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::queries::{chart_choices_read, chart_defaults_read, format_key, parse_key};
use crate::charts::helm_missing;
use crate::components::findings::summarize_findings;
use crate::components::{Editor, FindingList, render_resource_part};
use crate::parsing::parse_text;
use crate::paths;
use crate::resource::create_resource;

/// The name of the values in links from findings.
const VALUES_FILE: &str = "values.yaml";

/// The fields as they are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChartForm {
    /// Chart and version: `local/web@1.0.0`; empty for a source that is no chart.
    pub key: String,
    /// Name of the Helm release; empty for the name of the workload.
    pub release_name: String,
    /// The common values.
    pub values: String,
}

impl ChartForm {
    /// The source of these fields; line ends are normalised to `\n`.
    pub fn to_source(&self) -> ChartSource {
        ChartSource {
            release_name: self.release_name.trim().to_owned(),
            values: self.values.replace("\r\n", "\n"),
            ..parse_key(&self.key)
        }
    }
}

/// A chart source that is being edited.
#[derive(Debug, Clone, Copy)]
pub struct ChartDraft {
    key: RwSignal<String>,
    release_name: RwSignal<String>,
    values: RwSignal<String>,
}

impl ChartDraft {
    /// The fields of `source`.
    pub fn new(source: &ChartSource) -> Self {
        let key =
            if source.chart.is_empty() { String::new() } else { format_key(&source.chart, &source.version) };
        Self {
            key: RwSignal::new(key),
            release_name: RwSignal::new(source.release_name.clone()),
            values: RwSignal::new(source.values.clone()),
        }
    }

    /// The current fields.
    pub fn form(self) -> ChartForm {
        ChartForm { key: self.key.get(), release_name: self.release_name.get(), values: self.values.get() }
    }

    /// Findings on the fields; what the chart renders is checked by the server.
    pub fn findings(self, name: Signal<String>, namespace: Signal<String>) -> Memo<Vec<Finding>> {
        Memo::new(move |_| {
            let spec = WorkloadSpec {
                namespace: namespace.get(),
                source: Source::Chart(self.form().to_source()),
                ..WorkloadSpec::default()
            };
            let name = name.get();
            let mut findings = parse_text(|| domain::workload::check(&name, &spec));
            findings.retain(|finding| finding.path.starts_with("/source"));
            sort_findings(&mut findings);
            findings
        })
    }
}

/// The fields; `prefix` is that of the form.
#[component]
pub fn ChartFields(
    draft: ChartDraft,
    findings: Memo<Vec<Finding>>,
    prefix: &'static str,
    workload: String,
) -> impl IntoView {
    let field = move |part: &str| format!("{prefix}[chart][{part}]");
    let choices = create_resource(|| (), |()| chart_choices_read());
    let key_field = field("key");
    let select = render_resource_part(choices, move |choices| {
        let missing = (!choices.has_helm).then(helm_missing);
        let current = draft.key.get_untracked();
        let is_listed = choices.choices.iter().any(|choice| choice.key() == current);
        let options = choices.choices.into_iter().map(|choice| {
            let (key, text) = (choice.key(), format!("{} {}", choice.chart, choice.version));
            let selected = key == current;
            view! { <option value=key selected=selected title=choice.description>{text}</option> }
        });
        // A chart that the project does not have stays chosen, and is a finding.
        let unlisted = (!is_listed).then(|| {
            let text = if current.is_empty() { "Choose a chart".to_owned() } else { current.clone() };
            view! { <option value=current.clone() selected=true>{text}</option> }
        });
        view! {
            <select class="select" id="chart" name=key_field.clone() aria-describedby="chart-help"
                on:change=move |ev| draft.key.set(event_target_value(&ev))>
                {unlisted}
                {options.collect_view()}
            </select>
            {missing}
        }
        .into_any()
    });
    let defaults = create_resource(move || draft.key.get(), chart_defaults_read);
    let own = Signal::derive(move || findings.get());
    view! {
        <div class="stack-md">
            <div class="grid gap-5 md:grid-cols-2">
                <div class="field">
                    <label class="field-label" for="chart">"Chart"</label>
                    {select}
                    <p class="field-help" id="chart-help">
                        <a class="link" href=paths::CHARTS>"Upload a chart, or add a repository"</a>
                    </p>
                </div>
                <div class="field">
                    <label class="field-label" for="release-name">"Release name"</label>
                    <input class="input input-mono" id="release-name" name=field("release_name") value=draft.release_name.get_untracked()
                        placeholder=workload maxlength="53" autocomplete="off" autocapitalize="off" spellcheck="false"
                        on:input=move |ev| draft.release_name.set(event_target_value(&ev)) />
                    <p class="field-help">"Name of the Helm release; the workload's name by default."</p>
                </div>
            </div>
            <section class="stack-sm" aria-labelledby="values-title">
                <h2 class="section" id="values-title">"Values"</h2>
                <p class="text-2">
                    "Only what differs from the chart's defaults. Overrides change them per group, label or cluster. "
                    <code>"${{ cluster.name }}"</code> " and other variables are filled in per cluster."
                </p>
                <Editor field=field("values") file=Signal::stored(VALUES_FILE.to_owned()) text=draft.values.get_untracked()
                    findings=own on_text=Callback::new(move |text| draft.values.set(text)) />
            </section>
            <details class="fold">
                <summary>"Default values of the chart"</summary>
                {render_resource_part(defaults, |text| view! { <pre class="raw">{text}</pre> }.into_any())}
            </details>
            <section class="stack-sm" aria-labelledby="findings">
                <h2 class="section" id="findings">
                    "Findings "
                    <span class="meta font-normal" aria-live="polite">{move || findings.with(|all| summarize_findings(all))}</span>
                </h2>
                {move || view! { <FindingList findings=findings.get() /> }}
            </section>
        </div>
    }
    .into_any()
}
