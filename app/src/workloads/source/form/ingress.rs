//! The fields of an Ingress.

use leptos::prelude::*;
use serde_json::{Value, json};

use super::fields::{FieldProps, custom_field, field_id, path_findings, scalar_field};
use super::objects::ObjectLocation;
use super::posted::{InputKind, input_name};
use super::source_text::SourceText;

/// Host, path, class, certificate.
#[component]
pub fn IngressFields(text: SourceText, at: ObjectLocation) -> impl IntoView {
    let part = |label: &'static str, path: &str, example: &'static str, help: &'static str| {
        scalar_field(
            text,
            at,
            FieldProps { label, path: path.into(), example, help, ..FieldProps::default() },
        )
    };
    view! {
        <div class="form-inside stack-sm">
            <div class="field-row">
                {host_field(text, at)} {part("Path", "/spec/rules/0/http/paths/0/path", "/", "")}
            </div>
            <div class="field-row">
                {part("Class", "/spec/ingressClassName", "nginx", "Empty for the default of the cluster.")}
                {tls_secret_field(text, at)}
            </div>
            {path_findings(text, at, "/spec".into(), false)}
        </div>
    }
    .into_any()
}

/// The host is stored in the rule and, if there is a certificate, in the hosts of `tls` too.
fn host_field(text: SourceText, at: ObjectLocation) -> AnyView {
    let shown = Signal::derive(move || text.scalar(at, "/spec/rules/0/host"));
    let found = Memo::new(move |_| text.findings(at, "/spec/rules/0/host", false));
    let typed = Callback::new(move |typed: String| {
        if untrack(|| text.value(at, "/spec/tls/0/hosts/0")).is_some() {
            text.set_value(at, "/spec/tls/0/hosts/0", &Value::from(typed.as_str()));
        }
        text.set_value(at, "/spec/rules/0/host", &Value::from(typed));
    });
    let names = |path| (field_id(at, path), input_name(InputKind::Text, at, path));
    let field = FieldProps { label: "Host", example: "shop.example.com", ..FieldProps::default() };
    custom_field(names("/spec/rules/0/host"), field, shown, found, [typed, Callback::new(|_| ())])
}

fn tls_secret_field(text: SourceText, at: ObjectLocation) -> AnyView {
    let shown = Signal::derive(move || text.scalar(at, "/spec/tls/0/secretName"));
    let found = Memo::new(move |_| text.findings(at, "/spec/tls", true));
    let typed = Callback::new(move |typed: String| {
        if typed.is_empty() {
            text.remove_value(at, "/spec/tls/0");
        } else if untrack(|| text.value(at, "/spec/tls/0")).is_some() {
            text.set_value(at, "/spec/tls/0/secretName", &Value::from(typed));
        } else {
            let host = untrack(|| text.scalar(at, "/spec/rules/0/host"));
            text.set_value(at, "/spec/tls/-", &json!({"hosts": [host], "secretName": typed}));
        }
    });
    let names = |path| (field_id(at, path), input_name(InputKind::Text, at, path));
    let field = FieldProps { label: "TLS Secret", example: "none", ..FieldProps::default() };
    custom_field(names("/spec/tls/0/secretName"), field, shown, found, [typed, Callback::new(|_| ())])
}
