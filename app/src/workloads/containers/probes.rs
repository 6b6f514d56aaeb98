//! When a container is ready, and when it is alive.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::Text;
use super::fields::{Choice, Field, choice, field, id_of, lines, notes};
use super::objects::At;

const WAYS: [(&str, &str); 5] = [
    ("", "Not asked"),
    ("httpGet", "HTTP answers"),
    ("tcpSocket", "Port opens"),
    ("exec", "Command succeeds"),
    ("grpc", "gRPC answers"),
];

/// One probe.
#[component]
pub fn Probe(text: Text, at: At, path: String, label: &'static str, help: &'static str) -> impl IntoView {
    let (shown, base) = (path.clone(), path.clone());
    let way = Memo::new(move |_| {
        let probe = text.value(at, &shown);
        let has = |way: &&(&'static str, _)| probe.as_ref().is_some_and(|probe| probe.get(way.0).is_some());
        WAYS.iter().find(has).map_or("", |way| way.0)
    });
    let choose = Callback::new(move |to: String| ask(text, at, &base, way.get_untracked(), &to));
    let parts = path.clone();
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">{label}</legend>
            <div class="form-row form-row-probe">
                {choice(Choice { id: id_of(at, &path), label, compact: true, choices: &WAYS }, Signal::derive(move || way.get().to_owned()), choose)}
                {move || fields(text, at, &parts, way.get())}
            </div>
            <p class="field-help">{help}</p>
            {notes(text, at, path, false)}
        </fieldset>
    }
    .into_any()
}

/// What else the probe says, how often and how long, stays.
fn ask(text: Text, at: At, path: &str, from: &str, to: &str) {
    if to.is_empty() {
        return text.remove(at, path);
    }
    let port = untrack(|| first_port(text, at, path));
    let new = match to {
        "httpGet" => json!({"path": "/healthz", "port": port}),
        "exec" => json!({"command": ["true"]}),
        _ => json!({"port": port}),
    };
    text.set(at, &format!("{path}/{to}"), &new);
    if !from.is_empty() {
        text.remove(at, &format!("{path}/{from}"));
    }
}

/// The first port of the probe's container, by name if it has one.
fn first_port(text: Text, at: At, path: &str) -> Value {
    let container = path.rsplit_once('/').map_or("", |(container, _)| container);
    let port = text.value(at, &format!("{container}/ports/0"));
    let part = |part: &str| port.as_ref().and_then(|port| port.get(part)).cloned();
    part("name").or_else(|| part("containerPort")).unwrap_or_else(|| json!(8080))
}

fn fields(text: Text, at: At, path: &str, way: &str) -> AnyView {
    let part = |label: &'static str, part: &str, example: &'static str, number: bool| {
        field(
            text,
            at,
            Field {
                label,
                path: format!("{path}/{part}"),
                example,
                number,
                compact: true,
                ..Field::default()
            },
        )
    };
    match way {
        "httpGet" => view! { {part("Path", "httpGet/path", "/healthz", false)} {part("Port", "httpGet/port", "http", true)} }.into_any(),
        "tcpSocket" => part("Port", "tcpSocket/port", "http", true),
        "grpc" => part("Port", "grpc/port", "8080", true),
        "exec" => lines(
            text,
            at,
            Field { label: "Command", path: format!("{path}/exec/command"), help: "One word a line.", ..Field::default() },
        ),
        _ => ().into_any(),
    }
}
