//! The ports of a container.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::Text;
use super::fields::{Choice, Field, add, choice, field, id_of, notes, rows, take};
use super::objects::At;

const PROTOCOLS: [(&str, &str); 3] = [("TCP", "TCP"), ("UDP", "UDP"), ("SCTP", "SCTP")];

/// Name, number, protocol.
#[component]
pub fn Ports(text: Text, at: At, base: String) -> impl IntoView {
    let list = format!("{base}/ports");
    let (adding, listed) = (list.clone(), list.clone());
    let row = move |n: usize| port(text, at, &format!("{listed}/{n}"), n);
    let press = move || {
        let n = untrack(|| text.count(at, &adding));
        let name = if n == 0 { "http".to_owned() } else { format!("port-{}", n + 1) };
        text.set(at, &format!("{adding}/-"), &json!({"name": name, "containerPort": 8080 + n}));
    };
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">"Ports"</legend>
            {rows(text, at, list.clone(), row)} {notes(text, at, list, false)}
            <div>{add("Port", press)}</div>
        </fieldset>
    }
    .into_any()
}

fn port(text: Text, at: At, path: &str, n: usize) -> AnyView {
    let protocol = format!("{path}/protocol");
    let (shown, gone) = (protocol.clone(), path.to_owned());
    let chosen = Signal::derive(move || match text.scalar(at, &shown) {
        protocol if protocol.is_empty() => "TCP".to_owned(),
        protocol => protocol,
    });
    let id = id_of(at, &protocol);
    let choose = Callback::new(move |word: String| match word.as_str() {
        "TCP" => text.remove(at, &protocol),
        _ => text.set(at, &protocol, &Value::from(word)),
    });
    view! {
        <div class="form-row form-row-port">
            {field(text, at, Field { label: "Port name", path: format!("{path}/name"), example: "http", compact: true, ..Field::default() })}
            {field(text, at, Field { label: "Port number", path: format!("{path}/containerPort"), example: "8080", number: true, compact: true, ..Field::default() })}
            {choice(Choice { id, label: "Protocol", compact: true, choices: &PROTOCOLS }, chosen, choose)}
            {take(format!("Remove port {}", n + 1), move || text.remove(at, &gone))}
        </div>
    }
    .into_any()
}
