//! What would change, grouped by identical effect: each group opens to its objects and fields. Signs come before tints, so
//! a diff can be read without colour.

use domain::plan::{Effect, FieldChange, HIDDEN, ObjectEffect, Outcome, Tally, TargetChange, TargetState};
use leptos::prelude::*;
use serde_json::Value;

use super::read::{Changed, Planned};
use crate::components::{Look, count_of, icon, joined};

/// Names in the head of a group.
const NAMED: usize = 4;

/// The section.
#[component]
pub fn Changes(plan: Planned) -> impl IntoView {
    let clusters =
        u32::try_from(plan.groups.iter().map(|group| group.count).sum::<usize>()).unwrap_or(u32::MAX);
    let kinds = u32::try_from(plan.groups.len()).unwrap_or(u32::MAX);
    let asks = plan.radius.confirmation().is_some();
    let groups = plan.groups.into_iter().enumerate().map(|(at, changed)| group(changed, at == 0, asks));
    view! {
        <section class="stack-sm" aria-labelledby="changes">
            <div class="flex flex-wrap items-baseline justify-between gap-x-4">
                <h2 class="section" id="changes">
                    "Changes "
                    <span class="meta font-normal">{format!("{}, {} of change", count_of(clusters, "cluster"), count_of(kinds, "kind"))}</span>
                </h2>
                <p class="meta">"+ create  ~ change  − delete"</p>
            </div>
            <div>{groups.collect_view()}</div>
        </section>
    }
    .into_any()
}

/// One group. `asks` says whether those that lose it need a person's word.
fn group(changed: Changed, open: bool, asks: bool) -> impl IntoView {
    let Changed { group, count, effect } = changed;
    let state = match group.change {
        TargetChange::Lose if asks => {
            let look = Look { icon: "warning", hue: "hue-drifted", loud: "state-loud" };
            look.with_word("Needs a confirm").into_any()
        }
        _ => verdict(&group.state, group.tally),
    };
    let head = count_of(u32::try_from(count).unwrap_or(u32::MAX), "cluster");
    let what = match (&group.state, group.change) {
        (_, TargetChange::Lose) => "lose it",
        (TargetState::NotRendered { .. }, _) => "can't be rendered",
        _ if group.tally.refused > 0 => "refuse",
        _ if is_idle(group.tally) => "unchanged",
        _ if count > 1 => "identical change",
        _ => "",
    };
    let names = joined(&group.clusters, count, NAMED);
    let why = match &group.state {
        TargetState::NotAsked { why } | TargetState::NotRendered { why } => Some(why.clone()),
        TargetState::Asked | TargetState::Answered => None,
    };
    let all = (count > NAMED).then(|| joined(&group.clusters, count, group.clusters.len()));
    view! {
        <details class="fold change" open=open>
            <summary>
                <span class="change-head">
                    <span>{head} " " <span class="text-3">{what}</span></span>
                    <span class="name text-2 truncate">{names}</span>
                    <span class="mono change-tally" aria-label=spoken(group.tally)>{signs(group.tally)}</span>
                    <span class="change-state">{state}</span>
                </span>
            </summary>
            <div class="stack-sm pb-4">
                {why.map(|why| view! { <p class="text-2">{why}</p> })}
                {all.map(|all| view! { <p class="meta">{all}</p> })}
                {match effect {
                    Some(effect) => objects(&effect).into_any(),
                    None if group.tally == Tally::default() => ().into_any(),
                    None => view! { <p class="text-2">"Too many kinds of change to show them all; flotilla diff tells every one."</p> }.into_any(),
                }}
            </div>
        </details>
    }
}

fn is_idle(tally: Tally) -> bool {
    tally.create + tally.change + tally.delete + tally.let_go == 0 && tally.unchanged > 0
}

fn signs(tally: Tally) -> String {
    format!("+{} ~{} −{}", tally.create, tally.change, tally.delete)
}

fn spoken(tally: Tally) -> String {
    let mut said = format!("{} created, {} changed, {} deleted", tally.create, tally.change, tally.delete);
    if tally.let_go > 0 {
        said.push_str(&format!(", {} left running", tally.let_go));
    }
    said
}

fn verdict(state: &TargetState, tally: Tally) -> AnyView {
    let (look, word) = match state {
        TargetState::Answered if tally.refused > 0 => {
            (Look { icon: "error", hue: "hue-degraded", loud: "state-loud" }, "Refused")
        }
        TargetState::Answered if tally.untried > 0 => {
            (Look { icon: "check", hue: "hue-healthy", loud: "state-quiet" }, "Accepted in part")
        }
        TargetState::Answered => {
            (Look { icon: "check", hue: "hue-healthy", loud: "state-quiet" }, "Accepted")
        }
        TargetState::Asked => {
            (Look { icon: "queued", hue: "hue-progressing", loud: "state-quiet" }, "Asking")
        }
        TargetState::NotAsked { .. } => {
            (Look { icon: "offline", hue: "hue-unknown", loud: "state-quiet" }, "Not tested")
        }
        TargetState::NotRendered { .. } => {
            (Look { icon: "blocked", hue: "hue-drifted", loud: "state-loud" }, "Not rendered")
        }
    };
    look.with_word(word).into_any()
}

/// The objects of one effect that change, with their fields.
pub fn objects(effect: &Effect) -> impl IntoView + use<> {
    let told: Vec<&ObjectEffect> =
        effect.objects.iter().filter(|one| one.outcome != Outcome::Unchanged).collect();
    let same = effect.objects.len() - told.len();
    let same = (same > 0).then(|| {
        let same = count_of(u32::try_from(same).unwrap_or(u32::MAX), "object");
        view! { <p class="meta">{format!("{same} unchanged.")}</p> }
    });
    let more = (effect.left_out > 0)
        .then(|| view! { <p class="meta">{format!("And {} more objects.", effect.left_out)}</p> });
    let rows: Vec<AnyView> = told.into_iter().map(object).collect();
    view! {
        {(!rows.is_empty()).then(|| view! {
            // It scrolls sideways, so it must be reached by the keyboard too.
            <div class="diff" tabindex="0" role="region" aria-label="Fields">{rows}</div>
        })}
        {more}
        {same}
    }
}

fn object(one: &ObjectEffect) -> AnyView {
    let (sign, note, fields) = match &one.outcome {
        Outcome::Unchanged => ("=", String::new(), &[][..]),
        Outcome::Create => ("+", String::new(), &[][..]),
        Outcome::Delete => ("−", String::new(), &[][..]),
        Outcome::LetGo => (".", "stays, no longer managed".to_owned(), &[][..]),
        Outcome::Refused { finding } => ("!", finding.code.clone(), &[][..]),
        Outcome::Change { fields, left_out } => {
            let n = u32::try_from(fields.len()).unwrap_or(u32::MAX).saturating_add(*left_out);
            let hidden = fields.iter().any(is_hidden);
            let more = if hidden { ", values are never shown" } else { "" };
            ("~", format!("{}{more}", count_of(n, "field")), fields.as_slice())
        }
    };
    let refused = match &one.outcome {
        Outcome::Refused { finding } => Some(view! {
            <div class="diff-note hue-degraded">{icon("error")} " " {finding.message.clone()}</div>
        }),
        _ => None,
    };
    let untried = (!one.untried.is_empty())
        .then(|| view! { <span class="text-3">{format!("  not tried: {}", one.untried)}</span> });
    let place = if one.object.namespace.is_empty() {
        one.object.name.clone()
    } else {
        format!("{}/{}", one.object.namespace, one.object.name)
    };
    view! {
        <div class="diff-head">
            <span aria-hidden="true">{sign} " "</span>
            <span class="sr-only">{word(&one.outcome)} " "</span>
            {one.object.kind.clone()}
            " "
            <b>{place}</b>
            {(!note.is_empty()).then(|| format!(" {note}"))}
            {untried}
        </div>
        {refused}
        {fields.iter().map(field).collect_view()}
    }
    .into_any()
}

const fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "Unchanged:",
        Outcome::Create => "Create",
        Outcome::Change { .. } => "Change",
        Outcome::Delete => "Delete",
        Outcome::LetGo => "Let go:",
        Outcome::Refused { .. } => "Refused:",
    }
}

fn is_hidden(field: &FieldChange) -> bool {
    let hidden = |value: &Option<Value>| value.as_ref().is_some_and(|value| value == HIDDEN);
    hidden(&field.wanted) || hidden(&field.live)
}

fn field(field: &FieldChange) -> impl IntoView + use<> {
    let side = |class: &'static str, word: &'static str, value: &Option<Value>| {
        value.as_ref().map(|value| {
            let lines: Vec<String> = shown(value).lines().map(str::to_owned).collect();
            lines
                .into_iter()
                .map(|line| view! { <div class=class><span class="sr-only">{word}</span>{line}</div> })
                .collect_view()
        })
    };
    view! {
        <div class="diff-path">{path(&field.path)}</div>
        {side("diff-del", "now ", &field.live)}
        {side("diff-add", "then ", &field.wanted)}
    }
}

/// `/spec/containers[name=web]/image` as `spec.containers[name=web].image`, which is how people say it.
fn path(pointer: &str) -> String {
    let dotted = pointer.trim_start_matches('/').replace('/', ".");
    dotted.replace("~1", "/").replace("~0", "~")
}

/// A text as it is, anything else as JSON over some lines.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text == HIDDEN => "••••••••".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_is_shown_as_people_say_it() {
        assert_eq!(path("/spec/containers[name=web]/image"), "spec.containers[name=web].image");
        assert_eq!(
            path("/metadata/labels/app.kubernetes.io~1name"),
            "metadata.labels.app.kubernetes.io/name"
        );
    }

    #[test]
    fn a_secret_value_is_dots() {
        assert_eq!(shown(&json!(HIDDEN)), "••••••••");
        assert_eq!(shown(&json!(3)), "3");
        assert_eq!(shown(&json!("a\nb")), "a\nb");
    }
}
