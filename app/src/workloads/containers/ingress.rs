//! The fields of an Ingress.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::Text;
use super::fields::{Field, bare, field, id_of, notes};
use super::objects::At;

/// Host, path, class, certificate.
#[component]
pub fn IngressFields(text: Text, at: At) -> impl IntoView {
    let part = |label: &'static str, path: &str, example: &'static str, help: &'static str| {
        field(text, at, Field { label, path: path.into(), example, help, ..Field::default() })
    };
    view! {
        <div class="form-inside stack-sm">
            <div class="field-row">
                {host(text, at)} {part("Path", "/spec/rules/0/http/paths/0/path", "/", "")}
            </div>
            <div class="field-row">
                {part("Class", "/spec/ingressClassName", "nginx", "The cluster's own if empty.")}
                {certificate(text, at)}
            </div>
            {notes(text, at, "/spec".into(), false)}
        </div>
    }
    .into_any()
}

/// The host stands at the rule and, with a certificate, in its list of hosts too.
fn host(text: Text, at: At) -> AnyView {
    let shown = Signal::derive(move || text.scalar(at, "/spec/rules/0/host"));
    let found = Memo::new(move |_| text.findings(at, "/spec/rules/0/host", false));
    let typed = Callback::new(move |typed: String| {
        if untrack(|| text.value(at, "/spec/tls/0/hosts/0")).is_some() {
            text.set(at, "/spec/tls/0/hosts/0", &Value::from(typed.as_str()));
        }
        text.set(at, "/spec/rules/0/host", &Value::from(typed));
    });
    let field = Field { label: "Host", example: "shop.example.com", ..Field::default() };
    bare(id_of(at, "/spec/rules/0/host"), field, shown, found, [typed, Callback::new(|_| ())])
}

fn certificate(text: Text, at: At) -> AnyView {
    let shown = Signal::derive(move || text.scalar(at, "/spec/tls/0/secretName"));
    let found = Memo::new(move |_| text.findings(at, "/spec/tls", true));
    let typed = Callback::new(move |typed: String| {
        if typed.is_empty() {
            text.remove(at, "/spec/tls/0");
        } else if untrack(|| text.value(at, "/spec/tls/0")).is_some() {
            text.set(at, "/spec/tls/0/secretName", &Value::from(typed));
        } else {
            let host = untrack(|| text.scalar(at, "/spec/rules/0/host"));
            text.set(at, "/spec/tls/-", &json!({"hosts": [host], "secretName": typed}));
        }
    });
    let field = Field { label: "TLS Secret", example: "none", ..Field::default() };
    bare(id_of(at, "/spec/tls/0/secretName"), field, shown, found, [typed, Callback::new(|_| ())])
}
