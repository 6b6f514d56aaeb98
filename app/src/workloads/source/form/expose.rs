//! How the pods are exposed: a Service inside the cluster, an Ingress outside.

use leptos::prelude::*;

use super::ingress::IngressFields;
use super::objects::{
    ObjectLocation, create_ingress, create_service, has_backend, kind, name, pod_path, selects_pods_of,
};
use super::service::ServiceFields;
use super::source_text::SourceText;

/// Checkboxes for Service and Ingress, with their fields.
#[component]
pub fn ExposeFields(text: SourceText, at: ObjectLocation) -> impl IntoView {
    let service = Memo::new(move |_| {
        let workload = text.object(at)?;
        text.find(|value| selects_pods_of(value, &workload)).map(|object| object.location)
    });
    let ingress = Memo::new(move |_| {
        let service = text.object(service.get()?)?;
        text.find(|value| has_backend(value, name(&service))).map(|object| object.location)
    });
    let ported = Memo::new(move |_| text.object(at).is_some_and(|object| has_port(&object)));
    let tick_service = move |on: bool| {
        let (there, workload) = (service.get_untracked(), untrack(|| text.object(at)));
        match (on, there, workload) {
            (true, None, Some(workload)) => text.append_object_to_file(at, &create_service(&workload)),
            (false, Some(there), _) => {
                // Removes the Ingress too; the later document first, so that the index of the other stays valid.
                let mut gone: Vec<ObjectLocation> =
                    ingress.get_untracked().into_iter().chain([there]).collect();
                gone.sort_by_key(|at| std::cmp::Reverse(at.document));
                gone.into_iter().for_each(|at| text.remove_object(at));
            }
            _ => {}
        }
    };
    let tick_ingress = move |on: bool| {
        let (there, service) =
            (ingress.get_untracked(), service.get_untracked().and_then(|at| untrack(|| text.object(at))));
        match (on, there, service) {
            (true, None, Some(service)) => text.append_object_to_file(at, &create_ingress(&service)),
            (false, Some(there), _) => text.remove_object(there),
            _ => {}
        }
    };
    let inside = CheckboxProps {
        label: "Inside the cluster (Service)",
        slug: "service",
        disabled_reason: "Add a container port first.",
    };
    let outside = CheckboxProps {
        label: "Outside the cluster (Ingress)",
        slug: "ingress",
        disabled_reason: "Add a Service first: the Ingress needs one.",
    };
    let (served, led) =
        (Signal::derive(move || service.get().is_some()), Signal::derive(move || ingress.get().is_some()));
    let ready = Signal::derive(move || ported.get() || served.get());
    view! {
        <fieldset class="stack-md">
            <legend class="section pb-2">"Expose"</legend>
            {document_checkbox(inside, served, ready, tick_service)}
            {move || service.get().map(|there| view! { <ServiceFields text=text at=there /> })}
            {document_checkbox(outside, led, served, tick_ingress)}
            {move || ingress.get().map(|there| view! { <IngressFields text=text at=there /> })}
        </fieldset>
    }
    .into_any()
}

fn has_port(object: &serde_json::Value) -> bool {
    let containers = object
        .pointer(&format!("{}/containers", pod_path(kind(object))))
        .and_then(serde_json::Value::as_array);
    containers.into_iter().flatten().any(|container| container.pointer("/ports/0").is_some())
}

/// Properties of a checkbox.
#[derive(Debug, Clone, Copy)]
pub struct CheckboxProps {
    /// Its label.
    pub label: &'static str,
    /// Part of its HTML ids.
    pub slug: &'static str,
    /// Shown while the checkbox is disabled: why.
    pub disabled_reason: &'static str,
}

/// A checkbox that adds or removes a document. While it is disabled, it shows the reason.
pub fn document_checkbox(
    tick: CheckboxProps,
    on: Signal<bool>,
    can: Signal<bool>,
    press: impl Fn(bool) + Send + Sync + 'static,
) -> AnyView {
    let CheckboxProps { label, slug, disabled_reason: why } = tick;
    let id = format!("why-{slug}");
    view! {
        <div class="stack-sm noscript:hidden">
            <label class="choice">
                <input
                    type="checkbox"
                    class="checkbox"
                    prop:checked=on
                    checked=on.get_untracked()
                    disabled=move || !can.get()
                    aria-describedby=id.clone()
                    on:change=move |ev| press(event_target_checked(&ev))
                />
                {label}
            </label>
            <p class="field-help" id=id hidden=move || can.get()>
                {why}
            </p>
        </div>
    }
    .into_any()
}
