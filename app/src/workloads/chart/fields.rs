//! The fields of a chart: which one, its release name, and its values as text and as a form.

use std::time::Duration;

use domain::finding::Finding;
use leptos::prelude::*;

use super::choice::ChartChoiceFields;
use super::draft::{ChartDraft, VALUES_FILE};
use super::queries::{ChartDefaults, chart_values_read};
use super::values_form::ValuesFormFields;
use super::values_text::ValuesText;
use crate::components::editor::form_switch;
use crate::components::findings::summarize_findings;
use crate::components::{Editor, FindingList, render_value};
use crate::resource::read_again;

/// Pause in typing after which the values of another chart are requested.
const CHOICE_PAUSE: Duration = Duration::from_millis(300);

/// The fields; `prefix` is that of the form.
#[component]
pub fn ChartFields(
    draft: ChartDraft,
    findings: Memo<Vec<Finding>>,
    prefix: &'static str,
    workload: String,
) -> impl IntoView {
    let field = move |part: &str| format!("{prefix}[chart][{part}]");
    let named = move || (draft.chart.get(), draft.version.get());
    let chosen = RwSignal::new(untrack(named));
    let mut choose = debounce(CHOICE_PAUSE, move |chart| chosen.set(chart));
    Effect::new(move |before: Option<()>| {
        let chart = named();
        if before.is_some() {
            choose(chart);
        }
    });
    let found = draft.lookup.with_value(|found| found.as_ref().map(|found| found.values.clone()));
    let chart_values =
        read_again(found, move || chosen.get(), |(chart, version)| chart_values_read(chart, version));
    let text = ValuesText::new(draft.values);
    let form = render_value(chart_values, move |ChartDefaults { form, .. }| {
        view! { <ValuesFormFields form=form text=text findings=findings /> }.into_any()
    });
    let defaults = render_value(chart_values, |ChartDefaults { defaults, .. }| {
        view! { <pre class="raw max-h-96 overflow-auto" tabindex="0" role="region" aria-label="Default values of the chart">{defaults}</pre> }
            .into_any()
    });
    let editor = view! {
        <Editor field=field("values") file=Signal::stored(VALUES_FILE.to_owned()) text=draft.values.get_untracked()
            findings=findings on_text=Callback::new(move |text| draft.values.set(text)) now=draft.values />
        <details class="fold">
            <summary>"Default values of the chart"</summary>
            {defaults}
        </details>
        <section class="stack-sm source-findings" aria-labelledby="findings">
            <h2 class="section" id="findings">
                "Findings "
                <span class="meta font-normal" aria-live="polite">{move || findings.with(|all| summarize_findings(all))}</span>
            </h2>
            <p class="meta" role="status">{move || draft.check_status()}</p>
            {move || view! { <FindingList findings=findings.get() /> }}
        </section>
    };
    view! {
        <div class="stack-md">
            <input type="hidden" name=field("is_chart") value="true" />
            <ChartChoiceFields draft=draft prefix=prefix />
            <div class="field">
                <label class="field-label" for="release-name">"Release name"</label>
                <input class="input input-mono max-w-140" id="release-name" name=field("release_name") value=draft.release_name.get_untracked()
                    placeholder=workload maxlength="53" autocomplete="off" autocapitalize="off" spellcheck="false"
                    on:input=move |ev| draft.release_name.set(event_target_value(&ev)) />
                <p class="field-help">"Name of the Helm release; the workload's name by default."</p>
            </div>
            <section class="stack-md" aria-labelledby="values-title">
                <h2 class="section" id="values-title">"Values"</h2>
                <p class="text-2">
                    "Only what differs from the chart's defaults. Overrides change them per group, label or cluster. "
                    <code>"${{ cluster.name }}"</code> " and other variables are filled in per cluster."
                </p>
                <div class="source-split">
                    {form_switch()}
                    <div class="form-beside stack-md">{form}</div>
                    <div class="stack-md source-sticky">{editor}</div>
                </div>
            </section>
        </div>
    }
    .into_any()
}
