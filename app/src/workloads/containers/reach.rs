//! How the pods are reached: a Service in the cluster, an Ingress from outside.

use leptos::prelude::*;

use super::Text;
use super::ingress::IngressFields;
use super::objects::{At, ingress_for, kind, leads_to, name, pod_path, serves, service_for};
use super::service::ServiceFields;

/// The two, as ticks with their fields.
#[component]
pub fn Reach(text: Text, at: At) -> impl IntoView {
    let service = Memo::new(move |_| {
        let workload = text.object(at)?;
        text.find(|value| serves(value, &workload)).map(|object| object.at)
    });
    let ingress = Memo::new(move |_| {
        let service = text.object(service.get()?)?;
        text.find(|value| leads_to(value, name(&service))).map(|object| object.at)
    });
    let ported = Memo::new(move |_| text.object(at).is_some_and(|object| has_port(&object)));
    let tick_service = move |on: bool| {
        let (there, workload) = (service.get_untracked(), untrack(|| text.object(at)));
        match (on, there, workload) {
            (true, None, Some(workload)) => text.add_beside(at, &service_for(&workload)),
            (false, Some(there), _) => {
                // What leads to it goes with it; the later document first, so that the number of the other stays.
                let mut gone: Vec<At> = ingress.get_untracked().into_iter().chain([there]).collect();
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
            (true, None, Some(service)) => text.add_beside(at, &ingress_for(&service)),
            (false, Some(there), _) => text.remove_object(there),
            _ => {}
        }
    };
    let inside =
        Tick { label: "the cluster, by a Service", slug: "service", why: "Give a container a port first." };
    let outside = Tick {
        label: "outside, by an Ingress",
        slug: "ingress",
        why: "It leads to a Service, so that comes first.",
    };
    let (served, led) =
        (Signal::derive(move || service.get().is_some()), Signal::derive(move || ingress.get().is_some()));
    let ready = Signal::derive(move || ported.get() || served.get());
    view! {
        <fieldset class="stack-md">
            <legend class="section pb-2">"Reach it from"</legend>
            {tick(inside, served, ready, tick_service)}
            {move || service.get().map(|there| view! { <ServiceFields text=text at=there /> })}
            {tick(outside, led, served, tick_ingress)}
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

/// A tick.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// Its label.
    pub label: &'static str,
    /// A word for ids.
    pub slug: &'static str,
    /// Why it can't be ticked, while it can't.
    pub why: &'static str,
}

/// A tick that adds and removes a document; while it can't, it says why.
pub fn tick(
    tick: Tick,
    on: Signal<bool>,
    can: Signal<bool>,
    press: impl Fn(bool) + Send + Sync + 'static,
) -> AnyView {
    let Tick { label, slug, why } = tick;
    let id = format!("why-{slug}");
    view! {
        <div class="stack-sm">
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
