//! The ports of a container.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::fields::{
    FieldProps, SelectProps, add_button, field_id, item_rows, path_findings, remove_button, scalar_field,
    select_field,
};
use super::objects::ObjectLocation;
use super::source_text::SourceText;

const PROTOCOLS: [(&str, &str); 3] = [("TCP", "TCP"), ("UDP", "UDP"), ("SCTP", "SCTP")];

/// Name, number and protocol of each port.
#[component]
pub fn PortFields(text: SourceText, at: ObjectLocation, base: String) -> impl IntoView {
    let list = format!("{base}/ports");
    let (adding, listed) = (list.clone(), list.clone());
    let row = move |n: usize| port_row(text, at, &format!("{listed}/{n}"), n);
    let press = move || {
        let n = untrack(|| text.count(at, &adding));
        let name = if n == 0 { "http".to_owned() } else { format!("port-{}", n + 1) };
        text.set_value(at, &format!("{adding}/-"), &json!({"name": name, "containerPort": 8080 + n}));
    };
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label pb-1">"Ports"</legend>
            {item_rows(text, at, list.clone(), row)} {path_findings(text, at, list, false)}
            <div>{add_button("Port", press)}</div>
        </fieldset>
    }
    .into_any()
}

fn port_row(text: SourceText, at: ObjectLocation, path: &str, n: usize) -> AnyView {
    let protocol = format!("{path}/protocol");
    let (shown, gone) = (protocol.clone(), path.to_owned());
    let selected = Signal::derive(move || match text.scalar(at, &shown) {
        protocol if protocol.is_empty() => "TCP".to_owned(),
        protocol => protocol,
    });
    let id = field_id(at, &protocol);
    let choose = Callback::new(move |word: String| match word.as_str() {
        "TCP" => text.remove_value(at, &protocol),
        _ => text.set_value(at, &protocol, &Value::from(word)),
    });
    view! {
        <div class="form-row form-row-port">
            {scalar_field(text, at, FieldProps { label: "Port name", path: format!("{path}/name"), example: "http", compact: true, ..FieldProps::default() })}
            {scalar_field(text, at, FieldProps { label: "Port number", path: format!("{path}/containerPort"), example: "8080", number: true, compact: true, ..FieldProps::default() })}
            {select_field(SelectProps { id, label: "Protocol", compact: true, options: &PROTOCOLS }, selected, choose)}
            {remove_button(format!("Remove port {}", n + 1), move || text.remove_value(at, &gone))}
        </div>
    }
    .into_any()
}
