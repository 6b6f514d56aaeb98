//! One object that runs pods: kind, replicas, containers, exposure and autoscaling.

use leptos::prelude::*;

use super::autoscaling::AutoscalingFields;
use super::container::ContainerFields;
use super::expose::ExposeFields;
use super::fields::{FieldProps, path_findings, scalar_field};
use super::kind::KindSelect;
use super::objects;
use super::objects::{NamedContainer, ObjectLocation, kind, name, pod_path};
use super::source_text::SourceText;
use crate::components::icon;
use crate::workloads::source::starter;

/// The form of one object.
#[component]
pub fn WorkloadForm(
    /// The text.
    text: SourceText,
    /// The object.
    at: ObjectLocation,
    /// Whether the workload was never published.
    is_new: bool,
    /// Whether the form can be folded, and is open at first; not if it is the only one.
    fold: Option<bool>,
    /// The container whose fields are shown at first, if it is of this object.
    named: StoredValue<NamedContainer>,
) -> impl IntoView {
    let what = Memo::new(move |_| text.object(at).map(|object| kind(&object).to_owned()).unwrap_or_default());
    let called =
        Memo::new(move |_| text.object(at).map(|object| name(&object).to_owned()).unwrap_or_default());
    let heading = view! {
        <h2 class="section">
            {move || what.get()} " " <span class="name">{move || called.get()}</span>
        </h2>
    };
    let remove = move || {
        let many = text.objects().iter().filter(|object| objects::is_workload(&object.value)).count() > 1;
        many.then(|| {
            view! {
                <button class="btn btn-sm btn-quiet noscript:hidden" type="button" on:click=move |_| text.remove_object(at)>
                    {format!("Remove this {}", what.get())}
                </button>
            }
        })
    };
    // The fields and their paths depend on the kind.
    let fields = move || object_fields(text, at, &what.get(), (is_new, named));
    let content = match fold {
        None => view! {
            <div class="stack-md">
                <div class="head">{heading} {remove}</div>
                {fields}
            </div>
        }
        .into_any(),
        Some(is_open) => view! {
            <details class="fold" open=is_open>
                <summary>{heading}</summary>
                <div class="stack-md py-3">{fields} {remove}</div>
            </details>
        }
        .into_any(),
    };
    let object = move || format!("{}/{}", what.get(), called.get());
    view! {
        <section aria-label=move || format!("{} {}", what.get(), called.get()) data-object=object>
            {content}
        </section>
    }
    .into_any()
}

fn object_fields(
    text: SourceText,
    at: ObjectLocation,
    what: &str,
    (is_new, named): (bool, StoredValue<NamedContainer>),
) -> AnyView {
    let base = pod_path(what);
    let counted = matches!(what, "Deployment" | "StatefulSet").then(|| {
        scalar_field(
            text,
            at,
            FieldProps {
                label: "Replicas",
                path: "/spec/replicas".into(),
                number: true,
                example: "1",
                ..FieldProps::default()
            },
        )
    });
    let schedule = (what == "CronJob").then(|| {
        scalar_field(
            text,
            at,
            FieldProps {
                label: "Schedule",
                path: "/spec/schedule".into(),
                example: "0 3 * * *",
                help: "Minute, hour, day, month, weekday.",
                ..FieldProps::default()
            },
        )
    });
    let reach = (what != "Job" && what != "CronJob").then(|| view! { <ExposeFields text=text at=at /> });
    let scale =
        matches!(what, "Deployment" | "StatefulSet").then(|| view! { <AutoscalingFields text=text at=at /> });
    view! {
        <div class="field-row">{is_new.then(|| view! { <KindSelect text=text at=at /> })} {counted} {schedule}</div>
        {path_findings(text, at, "/metadata/name".into(), false)}
        <ContainerTabs text=text at=at base=base named=named />
        {reach}
        {scale}
    }
    .into_any()
}

/// The containers; one is open: at first the one that the address names.
#[component]
fn ContainerTabs(
    text: SourceText,
    at: ObjectLocation,
    base: &'static str,
    named: StoredValue<NamedContainer>,
) -> impl IntoView {
    let list = format!("{base}/containers");
    let (adding, counted) = (list.clone(), list.clone());
    let first = untrack(|| text.object(at))
        .and_then(|object| named.with_value(|named| named.find_index(&object, &list)))
        .unwrap_or_default();
    let open = RwSignal::new(first);
    let count = Memo::new(move |_| text.count(at, &counted));
    let shown = Memo::new(move |_| open.get().min(count.get().saturating_sub(1)));
    let tabs = {
        let list = list.clone();
        move || {
            let list = list.clone();
            (0..count.get())
                .map(|n| container_tab(text, at, format!("{list}/{n}"), n, (open, shown)))
                .collect_view()
        }
    };
    let add = move |_| {
        let n = untrack(|| text.count(at, &adding));
        text.set_value(
            at,
            &format!("{adding}/-"),
            &starter::starter_container(&format!("container-{}", n + 1)),
        );
        open.set(n);
    };
    view! {
        <div class="flex flex-wrap items-center gap-3">
            <div class="segmented" role="group" aria-label="Containers">
                {tabs}
            </div>
            <button class="btn btn-sm btn-quiet noscript:hidden" type="button" on:click=add>
                {icon("plus")}
                "Container"
            </button>
        </div>
        {move || {
            let n = shown.get();
            (count.get() > 0)
                .then(|| view! { <ContainerFields text=text at=at pod=base n=n is_only=count.get() == 1 /> })
        }}
    }
    .into_any()
}

fn container_tab(
    text: SourceText,
    at: ObjectLocation,
    path: String,
    n: usize,
    (open, shown): (RwSignal<usize>, Memo<usize>),
) -> AnyView {
    let name = format!("{path}/name");
    let called = move || match text.scalar(at, &name) {
        name if name.is_empty() => format!("container {}", n + 1),
        name => name,
    };
    let mark = move || {
        let found = text.findings(at, &path, true);
        (!found.is_empty()).then(|| crate::components::findings::worst_style(&found).icon_view())
    };
    view! {
        <button type="button" aria-pressed=move || (shown.get() == n).to_string() on:click=move |_| open.set(n)>
            <span class="name">{called}</span>
            {mark}
        </button>
    }
    .into_any()
}
