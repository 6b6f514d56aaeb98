//! The placement form with its live result: which clusters match, which do not, and because of what.
//!
//! The decision is `domain::placement::decide`, here in the browser as later on the server.

use domain::ClusterId;
use domain::cluster::{Cluster, Reach};
use domain::placement::{Decision, Step, StepResult, Verdict, decide};
use leptos::prelude::*;

use super::placement_form::{By, PlacementForm};
use crate::components::{FindingList, Look, icon};
use crate::paths;

/// The fields of the form; every field is kept in the signal and sent under `placement[…]`.
#[component]
pub fn PlacementFields(form: RwSignal<PlacementForm>, clusters: StoredValue<Vec<Cluster>>) -> impl IntoView {
    let choice = move |way: By| {
        let id = format!("by-{}", way.slug());
        view! {
            <label>
                <input
                    id=id
                    type="radio"
                    name="placement[by]"
                    value=way.slug()
                    checked=form.with_untracked(|form| form.by == way)
                    on:change=move |_| form.update(|form| form.by = way)
                />
                {way.word()}
            </label>
        }
    };
    view! {
        // Which part shows follows from the checked radio in CSS, so it works without script.
        <div class="fields group">
            <fieldset class="field">
                <legend class="field-label mb-1">"Choose clusters by"</legend>
                <div class="segmented w-fit">{By::ALL.map(choice).collect_view()}</div>
            </fieldset>
            <div class="hidden group-has-[#by-names:checked]:block">{names(form, clusters)}</div>
            <div class="hidden group-has-[#by-labels:checked]:block">{selector(form)}</div>
            {text(form, Words { name: "exclude", label: "Never on", placeholder: "edge-1, edge-2", help: "Names of clusters, whatever else matches." }, |form| &mut form.exclude)}
            {text(form, Words { name: "tolerations", label: "Tolerate taints", placeholder: "spot=true:NoSelect", help: "key=value:Effect, key:Effect or key alone; * for every key." }, |form| &mut form.tolerations,
            )}
            {text(form, Words { name: "number", label: "How many", placeholder: "all that match", help: "The best so many of those that match; empty for all." }, |form| &mut form.number)}
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name="placement[members]"
                    value="auto"
                    checked=form.with_untracked(|form| form.members == "auto")
                    on:change=move |ev| form.update(|form| form.members = if event_target_checked(&ev) { "auto".into() } else { String::new() })
                />
                "Clusters that match later get it without a publish"
            </label>
        </div>
    }
    .into_any()
}

fn names(form: RwSignal<PlacementForm>, clusters: StoredValue<Vec<Cluster>>) -> impl IntoView {
    let all: Vec<String> = clusters.with_value(|all| all.iter().map(|one| one.name.clone()).collect());
    let toggle = move |name: String, on: bool| {
        form.update(|form| {
            form.names.retain(|one| *one != name);
            if on {
                form.names.push(name);
            }
        });
    };
    let row = move |name: String| {
        let chosen = form.with_untracked(|form| form.names.contains(&name));
        let value = name.clone();
        view! {
            <label class="choice">
                <input
                    class="checkbox"
                    type="checkbox"
                    name="placement[names][]"
                    value=value.clone()
                    checked=chosen
                    on:change=move |ev| toggle(value.clone(), event_target_checked(&ev))
                />
                <span class="name">{name}</span>
            </label>
        }
    };
    view! {
        <fieldset class="field">
            <legend class="field-label mb-1">"Clusters"</legend>
            <div class="grid gap-1">{all.into_iter().map(row).collect_view()}</div>
        </fieldset>
    }
}

fn selector(form: RwSignal<PlacementForm>) -> impl IntoView {
    text(
        form,
        Words {
            name: "selector",
            label: "All of these labels",
            placeholder: "env=prod, region in (eu,us)",
            help: "As kubectl -l takes them: =, !=, in (…), notin (…), key, !key.",
        },
        |form| &mut form.selector,
    )
}

/// What a text field says of itself.
struct Words {
    name: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
}

fn text(
    form: RwSignal<PlacementForm>,
    words: Words,
    part: fn(&mut PlacementForm) -> &mut String,
) -> impl IntoView {
    let Words { name, label, placeholder, help } = words;
    let id = format!("placement-{name}");
    let begin = part(&mut form.get_untracked()).clone();
    let wrong = Memo::new(move |_| {
        let findings = form.with(PlacementForm::placement).err().unwrap_or_default();
        findings.into_iter().find(|finding| finding.path == format!("/placement/{name}"))
    });
    view! {
        <div class="field">
            <label class="field-label" for=id.clone()>
                {label}
            </label>
            <input
                class="input input-mono"
                id=id.clone()
                name=format!("placement[{name}]")
                value=begin
                placeholder=placeholder
                maxlength="2000"
                autocomplete="off"
                spellcheck="false"
                aria-invalid=move || wrong.with(Option::is_some).to_string()
                aria-describedby=format!("{id}-help")
                on:input=move |ev| form.update(|form| *part(form) = event_target_value(&ev))
            />
            <p class="field-help" id=format!("{id}-help")>
                {move || match wrong.get() {
                    Some(finding) => {
                        view! {
                            <span class="field-message hue-degraded">
                                {icon("error")} <span>{format!("{} {}", finding.message, finding.hint)}</span>
                            </span>
                        }
                            .into_any()
                    }
                    None => help.into_any(),
                }}
            </p>
        </div>
    }
}

/// The live result: chosen first, then refused, nearest first, with the step, the value seen and what would change it.
#[component]
pub fn LiveMatch(
    form: RwSignal<PlacementForm>,
    clusters: StoredValue<Vec<Cluster>>,
    /// Clusters that have it now.
    current: StoredValue<Vec<ClusterId>>,
) -> impl IntoView {
    let decision = Memo::new(move |_| {
        let placement = form.with(PlacementForm::placement)?;
        Ok::<_, Vec<domain::Finding>>(
            clusters.with_value(|all| current.with_value(|now| decide(&placement, all, &[], now))),
        )
    });
    move || match decision.get() {
        Ok(decision) => {
            view! { <Verdicts decision=decision clusters=clusters note="decided as you type" /> }.into_any()
        }
        Err(findings) => view! {
            <div class="empty">
                <h2>"The placement can't be read yet"</h2>
                <FindingList findings=findings />
            </div>
        }
        .into_any(),
    }
}

/// A decision as two tables.
#[component]
pub fn Verdicts(
    decision: Decision,
    clusters: StoredValue<Vec<Cluster>>,
    /// What stands after the head.
    #[prop(default = "")]
    note: &'static str,
) -> impl IntoView {
    let (chosen, refused): (Vec<Verdict>, Vec<Verdict>) =
        decision.verdicts.into_iter().partition(|verdict| verdict.chosen);
    let total = chosen.len() + refused.len();
    let reach = move |name: &str| {
        clusters.with_value(|all| all.iter().find(|one| one.name == name).map(|one| one.reach))
    };
    let lead = format!("{} of {total} clusters chosen", chosen.len());
    view! {
        <div class="stack-md">
            <h2 class="section" aria-live="polite">
                {lead}
                " "
                <span class="meta font-normal">{note}</span>
            </h2>
            <table class="table">
                <caption class="sr-only">"Chosen clusters"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Chosen"</th>
                        <th scope="col">"Because"</th>
                        <th scope="col">"Reach"</th>
                    </tr>
                </thead>
                <tbody>
                    {chosen.is_empty().then(|| view! { <tr><td colspan="3" class="text-3">"None. Publishing would put it nowhere."</td></tr> })}
                    {chosen.into_iter().map(|verdict| chosen_row(&verdict, reach(&verdict.name))).collect_view()}
                </tbody>
            </table>
            {(!refused.is_empty()).then(|| refused_table(refused))}
        </div>
    }
    .into_any()
}

fn chosen_row(verdict: &Verdict, reach: Option<Reach>) -> impl IntoView + use<> {
    // Steps that every cluster passes in silence (not excluded, no taints) would only hide the one that chose it.
    let telling = |step: &&StepResult| matches!(step.step, Step::Predicate | Step::NewMember);
    // What was seen of a cluster that was named, or of any cluster, is its name: then what was asked says more.
    let words =
        |step: &StepResult| if step.seen == verdict.name { step.asked.clone() } else { step.seen.clone() };
    let because: Vec<String> = verdict.steps.iter().filter(telling).map(words).collect();
    let because = because.join("; ");
    view! {
        <tr>
            <th scope="row" class="cell-name name">
                <span class="hue-healthy">{icon("check")}</span>
                " "
                <a href=paths::cluster(&verdict.name)>{verdict.name.clone()}</a>
            </th>
            <td class="mono" data-label="Because">
                {because}
            </td>
            <td class="cell-state">{reach.map(|reach| Look::of_reach(reach).with_word(reach.word()))}</td>
        </tr>
    }
}

fn refused_table(refused: Vec<Verdict>) -> impl IntoView {
    let row = |verdict: Verdict| {
        let step = verdict.refusal().cloned();
        let (asked, seen, remedy) = step.map(|s| (s.asked, s.seen, s.remedy)).unwrap_or_default();
        view! {
            <tr>
                <th scope="row" class="cell-name name text-2">
                    {icon("minus")}
                    " "
                    <a href=paths::cluster(&verdict.name)>{verdict.name.clone()}</a>
                </th>
                <td class="mono" data-label="Asked">
                    {asked}
                </td>
                <td class="mono" data-label="Seen">
                    {seen}
                </td>
                <td data-label="Remedy">{remedy}</td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <caption class="sr-only">"Refused clusters"</caption>
            <thead>
                <tr>
                    <th scope="col">{format!("Refused {}", refused.len())}</th>
                    <th scope="col">"Asked"</th>
                    <th scope="col">"Value seen"</th>
                    <th scope="col">"What would change it"</th>
                </tr>
            </thead>
            <tbody>{refused.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
}
