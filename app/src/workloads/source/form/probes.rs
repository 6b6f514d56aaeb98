//! Readiness and liveness probes of a container.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::fields::{
    FieldProps, SelectProps, field_id, lines_field, path_findings, scalar_field, select_field,
};
use super::objects::ObjectLocation;
use super::source_text::SourceText;

const HANDLERS: [(&str, &str); 5] =
    [("", "None"), ("httpGet", "HTTP"), ("tcpSocket", "TCP"), ("exec", "Command"), ("grpc", "gRPC")];

/// One probe.
#[component]
pub fn ProbeFields(
    text: SourceText,
    at: ObjectLocation,
    path: String,
    label: &'static str,
    help: &'static str,
) -> impl IntoView {
    let (shown, base) = (path.clone(), path.clone());
    let way = Memo::new(move |_| {
        let probe = text.value(at, &shown);
        let has = |way: &&(&'static str, _)| probe.as_ref().is_some_and(|probe| probe.get(way.0).is_some());
        HANDLERS.iter().find(has).map_or("", |way| way.0)
    });
    let choose = Callback::new(move |to: String| set_handler(text, at, &base, way.get_untracked(), &to));
    let parts = path.clone();
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">{label}</legend>
            <div class="form-row form-row-probe">
                {select_field(SelectProps { id: field_id(at, &path), label, compact: true, options: &HANDLERS }, Signal::derive(move || way.get().to_owned()), choose)}
                {move || handler_fields(text, at, &parts, way.get())}
            </div>
            <p class="field-help">{help}</p>
            {path_findings(text, at, path, false)}
        </fieldset>
    }
    .into_any()
}

/// Replaces the handler of the probe. Its other fields, such as period and timeout, stay unchanged.
fn set_handler(text: SourceText, at: ObjectLocation, path: &str, from: &str, to: &str) {
    if to.is_empty() {
        return text.remove_value(at, path);
    }
    let port = untrack(|| first_port(text, at, path));
    let new = match to {
        "httpGet" => json!({"path": "/healthz", "port": port}),
        "exec" => json!({"command": ["true"]}),
        _ => json!({"port": port}),
    };
    text.set_value(at, &format!("{path}/{to}"), &new);
    if !from.is_empty() {
        text.remove_value(at, &format!("{path}/{from}"));
    }
}

/// The first port of the container: its name, or else its number, or else 8080.
fn first_port(text: SourceText, at: ObjectLocation, path: &str) -> Value {
    let container = path.rsplit_once('/').map_or("", |(container, _)| container);
    let port = text.value(at, &format!("{container}/ports/0"));
    let part = |part: &str| port.as_ref().and_then(|port| port.get(part)).cloned();
    part("name").or_else(|| part("containerPort")).unwrap_or_else(|| json!(8080))
}

fn handler_fields(text: SourceText, at: ObjectLocation, path: &str, way: &str) -> AnyView {
    let part = |label: &'static str, part: &str, example: &'static str, number: bool| {
        scalar_field(
            text,
            at,
            FieldProps {
                label,
                path: format!("{path}/{part}"),
                example,
                number,
                compact: true,
                ..FieldProps::default()
            },
        )
    };
    match way {
        "httpGet" => view! { {part("Path", "httpGet/path", "/healthz", false)} {part("Port", "httpGet/port", "http", true)} }.into_any(),
        "tcpSocket" => part("Port", "tcpSocket/port", "http", true),
        "grpc" => part("Port", "grpc/port", "8080", true),
        "exec" => lines_field(
            text,
            at,
            FieldProps { label: "Command", path: format!("{path}/exec/command"), help: "One word per line.", ..FieldProps::default() },
        ),
        _ => ().into_any(),
    }
}
