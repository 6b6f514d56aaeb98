//! What limits and ranks the matching clusters: exclusions, tolerations, number, spread and scores.

use domain::placement::ScoreName;
use leptos::prelude::*;

use super::PlacementFieldContext;
use super::suggestions::suggestion_list;
use crate::components::pluralize;
use crate::workloads::placement::evaluations::count_matching;
use crate::workloads::placement::form::PlacementForm;
use crate::workloads::text_field::TextFieldProps;

/// The fields.
pub(super) fn constraint_fields(context: PlacementFieldContext) -> AnyView {
    let (spreads, scores) = context.form.with_untracked(|form| (form.spread.len(), form.score.len()));
    let has_ranking = context.form.with_untracked(|form| {
        form.spread.iter().any(|row| !row.is_blank()) || form.score.iter().any(|row| !row.is_blank())
    });
    view! {
        {context.text_field(
            TextFieldProps { path: "exclude".into(), label: "Excluded clusters", placeholder: "edge-1, edge-2", help: "Names of clusters that are never selected.", list: "cluster-names".into(), ..TextFieldProps::default() },
            |form| Some(&mut form.exclude),
        )}
        {context.text_field(
            TextFieldProps {
                path: "tolerations".into(),
                label: "Tolerate taints",
                placeholder: "spot=true:NoSelect",
                help: "key=value:Effect, key:Effect or key alone; * for every key.",
                list: "cluster-taints".into(),
                ..TextFieldProps::default()
            },
            |form| Some(&mut form.tolerations),
        )}
        {number_field(context)}
        {limit_fields(context)}
        <details class="fold" open=has_ranking>
            <summary>"Spread and preference "</summary>
            <div class="fields pt-2 pb-4">
                <fieldset class="field" id="placement-spread">
                    <legend class="field-label mb-1">"Spread over"</legend>
                    {(0..spreads).map(|at| spread_row(context, at)).collect_view()}
                </fieldset>
                <fieldset class="field">
                    <legend class="field-label mb-1">"Prefer clusters"</legend>
                    {(0..scores).map(|at| score_row(context, at)).collect_view()}
                    <p class="field-help">"Ranks those that match, if not all of them are selected. Weights from -10 to 10; a negative one ranks them last."</p>
                </fieldset>
            </div>
        </details>
        <div class="stack-sm">
            {checkbox(context.form, "new_members", "auto", "Clusters that match later get it without a publish", |form| &mut form.new_members)}
            {checkbox(context.form, "reselect", "reselect", "Reselect at every change, even if clusters lose the workload", |form| &mut form.reselect)}
        </div>
        {constraint_lists(context)}
    }
    .into_any()
}

/// What the fields offer.
fn constraint_lists(context: PlacementFieldContext) -> AnyView {
    let PlacementFieldContext { form, values, .. } = context;
    let exclude = Memo::new(move |_| form.with(|form| form.exclude.clone()));
    let tolerations = Memo::new(move |_| form.with(|form| form.tolerations.clone()));
    let scored = Memo::new(move |_| {
        form.with(|form| form.score.iter().map(|row| row.selector.clone()).collect::<Vec<_>>())
    });
    let scored_labels = move |at: usize| {
        let text = move || scored.with(|scored| scored.get(at).cloned().unwrap_or_default());
        suggestion_list(format!("scored-labels-{at}"), move || {
            values.with_value(|values| values.labels(&text()))
        })
    };
    let scores = form.with_untracked(|form| form.score.len());
    view! {
        {suggestion_list("cluster-names".to_owned(), move || values.with_value(|values| exclude.with(|text| values.names(text))))}
        {suggestion_list("cluster-taints".to_owned(), move || values.with_value(|values| tolerations.with(|text| values.taints(text))))}
        {suggestion_list("spread-keys".to_owned(), move || values.with_value(|values| values.spread_keys()))}
        {(0..scores).map(scored_labels).collect_view()}
    }
    .into_any()
}

/// The number, and a sentence that says what it means here.
fn number_field(context: PlacementFieldContext) -> AnyView {
    let PlacementFieldContext { form, decision, .. } = context;
    let sentence = move || {
        let number = form.with(|form| form.number.trim().to_owned());
        let matching =
            decision.with(|decision| decision.as_ref().ok().map(|(_, decision)| count_matching(decision)));
        let matching = matching.and_then(|matching| u32::try_from(matching).ok());
        match (number.as_str(), matching) {
            ("", Some(matching)) => format!("All of the {} that match.", pluralize(matching, "cluster")),
            ("", None) => "All clusters that match.".to_owned(),
            (number, Some(matching)) => {
                format!("Best {number} of the {} that match.", pluralize(matching, "cluster"))
            }
            (number, None) => format!("Best {number} of those that match."),
        }
    };
    view! {
        <div class="stack-sm">
            {context.text_field(count_props("number", "Number of clusters", "all", ""), |form| Some(&mut form.number))}
            <p class="meta">{sentence}</p>
        </div>
    }
    .into_any()
}

/// What happens with fewer clusters: at a publish, and while others leave.
fn limit_fields(context: PlacementFieldContext) -> AnyView {
    let has_limits = context
        .form
        .with_untracked(|form| !form.minimum.trim().is_empty() || !form.available.trim().is_empty());
    let default_available = context.default_available;
    let sentence = move || {
        default_available.get().map(|(available, selected)| {
            format!("Without a number: {available} of the {} selected.", pluralize(selected, "cluster"))
        })
    };
    view! {
        <details class="fold" open=has_limits>
            <summary>"Minimum number of clusters "</summary>
            <div class="fields pt-2 pb-4">
                {context.text_field(
                    count_props("minimum", "Reject a publish below", "any number", "With fewer selected clusters, a publish is rejected."),
                    |form| Some(&mut form.minimum),
                )}
                <div class="stack-sm">
                    {context.text_field(
                        count_props("available", "Available on at least", "", "While fewer of the selected clusters run it, no other cluster loses it."),
                        |form| Some(&mut form.available),
                    )}
                    <p class="meta">{sentence}</p>
                </div>
            </div>
        </details>
    }
    .into_any()
}

/// A field for a number of clusters.
fn count_props(
    path: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
) -> TextFieldProps {
    TextFieldProps {
        path: path.to_owned(),
        label,
        placeholder,
        help,
        numeric: true,
        ..TextFieldProps::default()
    }
}

fn spread_row(context: PlacementFieldContext, at: usize) -> AnyView {
    let form = context.form;
    let row = form.with_untracked(|form| form.spread.get(at).cloned().unwrap_or_default());
    let anyway = row.when == "anyway";
    let hidden = |label: &'static str, placeholder: &'static str, part: &str, numeric: bool| TextFieldProps {
        path: format!("spread/{at}/{part}"),
        label,
        placeholder,
        label_hidden: true,
        numeric,
        list: if part == "key" { "spread-keys".into() } else { String::new() },
        ..TextFieldProps::default()
    };
    let key = Memo::new(move |_| {
        let key = form.with(|form| form.spread.get(at).map(|row| row.key.trim().to_owned()));
        key.filter(|key| !key.is_empty()).unwrap_or_else(|| "value".to_owned())
    });
    view! {
        <div class="placement-sentence">
            "At most"
            <span class="w-14">
                {context.text_field(hidden("Skew", "1", "skew", true), move |form| form.spread.get_mut(at).map(|row| &mut row.skew))}
            </span>
            "more per"
            <span class="w-36">
                {context.text_field(hidden("Spread over", "region", "key", false), move |form| form.spread.get_mut(at).map(|row| &mut row.key))}
            </span>
            <span>"than the " <span class="unbroken">{move || key.get()}</span> " with fewest,"</span>
            <span>"in at least"</span>
            <span class="w-14">
                {context.text_field(hidden("Minimum number of values", "1", "groups", true), move |form| form.spread.get_mut(at).map(|row| &mut row.groups))}
            </span>
            <select
                class="select w-28"
                aria-label="When unsatisfiable"
                name=format!("placement[spread][{at}][when]")
                on:change=move |ev| {
                    let when = event_target_value(&ev);
                    form.update(|form| if let Some(row) = form.spread.get_mut(at) { row.when = when });
                }
            >
                <option value="" selected=!anyway>"required"</option>
                <option value="anyway" selected=anyway>"preferred"</option>
            </select>
        </div>
    }
    .into_any()
}

/// The label of a score.
const fn score_label(score: ScoreName) -> &'static str {
    match score {
        ScoreName::Steady => "already deployed",
        ScoreName::AllocatableCpu => "with most CPU",
        ScoreName::AllocatableMemory => "with most memory",
        ScoreName::Label => "with these labels",
    }
}

fn score_row(context: PlacementFieldContext, at: usize) -> AnyView {
    let form = context.form;
    let selected =
        form.with_untracked(|form| form.score.get(at).map(|row| row.name.clone()).unwrap_or_default());
    let option = |value: &'static str, label: &'static str| {
        view! {
            <option value=value selected=selected == value>
                {label}
            </option>
        }
    };
    let part = |label: &'static str, placeholder: &'static str, part: &str, list: String| TextFieldProps {
        path: format!("score/{at}/{part}"),
        label,
        placeholder,
        label_hidden: true,
        list,
        ..TextFieldProps::default()
    };
    view! {
        <div class="placement-score">
            <select
                class="select"
                aria-label="Score"
                name=format!("placement[score][{at}][name]")
                on:change=move |ev| {
                    let name = event_target_value(&ev);
                    form.update(|form| if let Some(row) = form.score.get_mut(at) { row.name = name });
                }
            >
                {option("", "no preference")}
                {ScoreName::ALL.iter().map(|score| option(score.as_str(), score_label(*score))).collect_view()}
            </select>
            <span class="placement-weight">
                {context.text_field(part("Weight", "weight 1", "weight", String::new()), move |form| form.score.get_mut(at).map(|row| &mut row.weight))}
            </span>
            <span class="placement-scored">
                {context.text_field(part("Scored labels", "tier=edge", "selector", format!("scored-labels-{at}")), move |form| form.score.get_mut(at).map(|row| &mut row.selector))}
            </span>
        </div>
    }
    .into_any()
}

fn checkbox(
    form: RwSignal<PlacementForm>,
    name: &'static str,
    value: &'static str,
    label: &'static str,
    part: fn(&mut PlacementForm) -> &mut String,
) -> AnyView {
    let on = part(&mut form.get_untracked()) == value;
    view! {
        <label class="choice">
            <input
                class="checkbox"
                type="checkbox"
                name=format!("placement[{name}]")
                value=value
                checked=on
                on:change=move |ev| {
                    let text = if event_target_checked(&ev) { value.to_owned() } else { String::new() };
                    form.update(|form| *part(form) = text);
                }
            />
            {label}
        </label>
    }
    .into_any()
}
