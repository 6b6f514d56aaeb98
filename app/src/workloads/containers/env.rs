//! The environment of a container: values, or keys of Secrets and ConfigMaps.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::Text;
use super::fields::{Choice, Field, add, bare, choice, field, id_of, rows, take};
use super::objects::At;

const SOURCES: [(&str, &str); 3] =
    [("value", "Value"), ("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")];

/// The variables.
#[component]
pub fn Environment(text: Text, at: At, base: String) -> impl IntoView {
    let list = format!("{base}/env");
    let (value, secret, listed) = (list.clone(), list.clone(), list.clone());
    let row = move |n: usize| variable(text, at, format!("{listed}/{n}"), n);
    let fresh = move |path: &str| format!("VARIABLE_{}", untrack(|| text.count(at, path)) + 1);
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">"Environment"</legend>
            {rows(text, at, list, row)}
            <div class="flex flex-wrap gap-2">
                {add("Variable", move || text.set(at, &format!("{value}/-"), &json!({"name": fresh(&value), "value": ""})))}
                {add("From Secret", move || text.set(at, &format!("{secret}/-"), &json!({"name": fresh(&secret), "valueFrom": from("secretKeyRef")})))}
            </div>
        </fieldset>
    }
    .into_any()
}

fn from(source: &str) -> Value {
    json!({source: {"name": "", "key": ""}})
}

fn variable(text: Text, at: At, path: String, n: usize) -> AnyView {
    let (shown, changed, gone) = (path.clone(), path.clone(), path.clone());
    let source = Memo::new(move |_| {
        let from = text.value(at, &format!("{shown}/valueFrom"));
        match from {
            None => "value",
            Some(from) => {
                SOURCES.iter().map(|source| source.0).find(|source| from.get(source).is_some()).unwrap_or("")
            }
        }
    });
    let choose = Callback::new(move |to: String| {
        let whole = untrack(|| text.scalar(at, &format!("{changed}/name")));
        let new = match to.as_str() {
            "value" => json!({"name": whole, "value": ""}),
            to => json!({"name": whole, "valueFrom": from(to)}),
        };
        text.set(at, &changed, &new);
    });
    let id = id_of(at, &format!("{path}/source"));
    let inner = path.clone();
    view! {
        <div class="form-row form-row-env">
            {field(text, at, Field { label: "Variable name", path: format!("{path}/name"), example: "LOG_LEVEL", compact: true, ..Field::default() })}
            {choice(Choice { id, label: "Source", compact: true, choices: &SOURCES }, Signal::derive(move || source.get().to_owned()), choose)}
            {move || from_where(text, at, &inner, source.get())}
            {take(format!("Remove variable {}", n + 1), move || text.remove(at, &gone))}
        </div>
    }
    .into_any()
}

fn from_where(text: Text, at: At, path: &str, source: &str) -> AnyView {
    let part = |label: &'static str, part: String, example: &'static str| {
        field(
            text,
            at,
            Field { label, path: format!("{path}/{part}"), example, compact: true, ..Field::default() },
        )
    };
    match source {
        "value" => {
            view! { <div class="form-row-wide">{kept(text, at, format!("{path}/value"))}</div> }.into_any()
        }
        "" => view! { <p class="meta form-row-wide">"Set in the YAML."</p> }.into_any(),
        source => {
            let label = if source == "secretKeyRef" { "Name of the Secret" } else { "Name of the ConfigMap" };
            view! {
                {part(label, format!("valueFrom/{source}/name"), "name")}
                {part("Key", format!("valueFrom/{source}/key"), "key")}
            }
            .into_any()
        }
    }
}

/// The value of a variable: always text, and it may be empty.
fn kept(text: Text, at: At, path: String) -> AnyView {
    let id = id_of(at, &path);
    let path = StoredValue::new(path);
    let shown = Signal::derive(move || path.with_value(|path| text.scalar(at, path)));
    let found = Memo::new(move |_| path.with_value(|path| text.findings(at, path, false)));
    let typed =
        Callback::new(move |typed: String| path.with_value(|path| text.set(at, path, &Value::from(typed))));
    let nothing = Callback::new(|_: String| ());
    bare(id, Field { label: "Value", compact: true, ..Field::default() }, shown, found, [typed, nothing])
}
