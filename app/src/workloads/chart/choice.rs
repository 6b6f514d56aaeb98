//! The fields for the chart and its version: free text with suggestions that the server finds.

use std::time::Duration;

use leptos::prelude::*;

use super::draft::ChartDraft;
use super::queries::{chart_choices_read, chart_versions_read};
use crate::charts::helm_missing;
use crate::components::render_value;
use crate::paths;
use crate::resource::read_again;

/// Pause in typing after which the server is asked.
const PAUSE: Duration = Duration::from_millis(200);

/// The fields; `prefix` is that of the form.
#[component]
pub fn ChartChoiceFields(draft: ChartDraft, prefix: &'static str) -> impl IntoView {
    let field = move |part: &str| format!("{prefix}[chart][{part}]");
    let (chart, version) = (draft.chart, draft.version);
    let searched = RwSignal::new(chart.get_untracked());
    let mut search = debounce(PAUSE, move |text: String| searched.set(text));
    let found = draft.lookup.get_value();
    let (choices, versions) = found.map(|found| (found.choices, found.versions)).unzip();
    let choices = read_again(choices, move || searched.get(), chart_choices_read);
    let versions = read_again(versions, move || searched.get(), chart_versions_read);
    // A chart that is chosen gets its newest version, because it may not have the version of the one before; unless another
    // version is entered meanwhile.
    let previous_version = StoredValue::new(version.get_untracked());
    Effect::new(move |before: Option<String>| {
        let chosen = searched.get();
        let newest = choices.get().and_then(Result::ok).and_then(|found| {
            found.choices.into_iter().find(|one| one.chart == chosen).map(|one| one.version)
        });
        let (Some(before), Some(newest)) = (before.as_ref(), newest) else { return before.unwrap_or(chosen) };
        let is_entered =
            previous_version.with_value(|previous| version.with_untracked(|now| now != previous));
        if *before != chosen && !is_entered {
            version.set(newest);
        }
        chosen
    });
    let about = move || {
        let (chart, version) = (searched.get(), version.get());
        let is_named = chart.split_once('/').is_some_and(|(repository, name)| {
            !repository.is_empty() && !name.is_empty() && !name.contains('/')
        });
        is_named.then(|| view! { <a class="link" href=paths::chart(&chart, &version)>{format!("About {chart}")}</a> " · " })
    };
    view! {
        <div class="grid gap-5 md:grid-cols-2">
            <div class="field">
                <label class="field-label" for="chart">"Chart"</label>
                <input class="input input-mono" id="chart" name=field("chart") list="chart-choices" value=chart.get_untracked()
                    prop:value=move || chart.get() placeholder="repository/name" maxlength="314" autocomplete="off" autocapitalize="off"
                    spellcheck="false" aria-describedby="chart-help" on:input=move |ev| {
                        let text = event_target_value(&ev);
                        previous_version.set_value(version.get_untracked());
                        chart.set(text.clone());
                        search(text);
                    } />
                {render_value(choices, |found| {
                    let missing = (!found.has_helm).then(helm_missing);
                    let options = found.choices.into_iter().map(|one| {
                        let label = match &*one.description {
                            "" => one.version,
                            about => format!("{} · {about}", one.version),
                        };
                        view! { <option value=one.chart label=label></option> }
                    });
                    view! { <datalist id="chart-choices">{options.collect_view()}</datalist> {missing} }.into_any()
                })}
                <p class="field-help" id="chart-help">
                    {about}
                    <a class="link" href=paths::CHARTS>"All charts"</a>
                </p>
            </div>
            <div class="field">
                <label class="field-label" for="chart-version">"Version"</label>
                <input class="input input-mono" id="chart-version" name=field("version") list="chart-versions" value=version.get_untracked()
                    prop:value=move || version.get() placeholder="newest" maxlength="100" autocomplete="off" autocapitalize="off"
                    spellcheck="false" aria-describedby="chart-version-help" on:input=move |ev| version.set(event_target_value(&ev)) />
                {render_value(versions, |found| {
                    let options = found.into_iter().map(|one| view! { <option value=one></option> });
                    view! { <datalist id="chart-versions">{options.collect_view()}</datalist> }.into_any()
                })}
                <p class="field-help" id="chart-version-help">"Empty for the newest one that is no pre-release; it is set when the draft is saved."</p>
            </div>
        </div>
    }
    .into_any()
}
