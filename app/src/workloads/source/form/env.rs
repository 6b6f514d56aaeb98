//! The environment of a container: values, or keys of Secrets and ConfigMaps.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::fields::{
    FieldProps, SelectProps, add_button, custom_field, field_id, item_rows, remove_button, scalar_field,
    select_field,
};
use super::objects::ObjectLocation;
use super::posted::{InputKind, input_name};
use super::source_text::SourceText;

const SOURCES: [(&str, &str); 3] =
    [("value", "Value"), ("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")];

/// The environment variables.
#[component]
pub fn EnvironmentFields(text: SourceText, at: ObjectLocation, base: String) -> impl IntoView {
    let list = format!("{base}/env");
    let (value, secret, listed) = (list.clone(), list.clone(), list.clone());
    let row = move |n: usize| variable_row(text, at, format!("{listed}/{n}"), n);
    let fresh = move |path: &str| format!("VARIABLE_{}", untrack(|| text.count(at, path)) + 1);
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">"Environment"</legend>
            {item_rows(text, at, list, row)}
            <div class="flex flex-wrap gap-2">
                {add_button("Variable", move || text.set_value(at, &format!("{value}/-"), &json!({"name": fresh(&value), "value": ""})))}
                {add_button("From Secret", move || text.set_value(at, &format!("{secret}/-"), &json!({"name": fresh(&secret), "valueFrom": value_source("secretKeyRef")})))}
            </div>
        </fieldset>
    }
    .into_any()
}

fn value_source(source: &str) -> Value {
    json!({source: {"name": "", "key": ""}})
}

fn variable_row(text: SourceText, at: ObjectLocation, path: String, n: usize) -> AnyView {
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
            to => json!({"name": whole, "valueFrom": value_source(to)}),
        };
        text.set_value(at, &changed, &new);
    });
    let id = field_id(at, &format!("{path}/source"));
    let inner = path.clone();
    view! {
        <div class="form-row form-row-env">
            {scalar_field(text, at, FieldProps { label: "Variable name", path: format!("{path}/name"), example: "LOG_LEVEL", compact: true, ..FieldProps::default() })}
            {select_field(SelectProps { id, label: "Source", compact: true, options: &SOURCES }, Signal::derive(move || source.get().to_owned()), choose)}
            {move || source_fields(text, at, &inner, source.get())}
            {remove_button(format!("Remove variable {}", n + 1), move || text.remove_value(at, &gone))}
        </div>
    }
    .into_any()
}

fn source_fields(text: SourceText, at: ObjectLocation, path: &str, source: &str) -> AnyView {
    let part = |label: &'static str, part: String, example: &'static str| {
        scalar_field(
            text,
            at,
            FieldProps {
                label,
                path: format!("{path}/{part}"),
                example,
                compact: true,
                ..FieldProps::default()
            },
        )
    };
    match source {
        "value" => {
            view! { <div class="form-row-wide">{value_field(text, at, format!("{path}/value"))}</div> }
                .into_any()
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

/// The field for the value of a variable: always a string, may be empty.
fn value_field(text: SourceText, at: ObjectLocation, path: String) -> AnyView {
    let id = field_id(at, &path);
    let name = input_name(InputKind::Value, at, &path);
    let path = StoredValue::new(path);
    let shown = Signal::derive(move || path.with_value(|path| text.scalar(at, path)));
    let found = Memo::new(move |_| path.with_value(|path| text.findings(at, path, false)));
    let typed = Callback::new(move |typed: String| {
        path.with_value(|path| text.set_value(at, path, &Value::from(typed)))
    });
    let nothing = Callback::new(|_: String| ());
    custom_field(
        (id, name),
        FieldProps { label: "Value", compact: true, ..FieldProps::default() },
        shown,
        found,
        [typed, nothing],
    )
}
