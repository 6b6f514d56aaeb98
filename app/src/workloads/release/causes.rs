//! Why a release is in its state: the chain from object to pod to container, and the whole text that the cluster reported.

use domain::Timestamp;
use domain::failure_cause::FailureCause;
use domain::health::HealthStatus;
use domain::object::ObjectRef;
use domain::release::ReleaseView;
use domain::report::ResourceStatus;
use leptos::prelude::*;

use crate::components::{Age, StatusStyle, icon, pluralize};

/// Most objects whose causes are listed.
const OBJECTS_MAX: usize = 6;

/// The state with its age, the chain of causes, and the text of the cluster.
#[component]
pub(super) fn ReleaseCauses(view: ReleaseView, at: Timestamp) -> impl IntoView {
    let look = StatusStyle::from_state(view.state);
    let unhealthy: Vec<ResourceStatus> =
        view.resources.iter().filter(|resource| is_unhealthy(resource)).cloned().collect();
    let stage_message = describe_stage(&view, &unhealthy);
    let details = collect_details(&unhealthy);
    let message = (unhealthy.is_empty() && stage_message.is_none() && !view.message.is_empty())
        .then(|| view.message.clone());
    let more = unhealthy.len().saturating_sub(OBJECTS_MAX);
    let more = (more > 0).then(|| {
        let objects = pluralize(u32::try_from(more).unwrap_or(u32::MAX), "object");
        view! { <p class="meta">{format!("And {objects} more, listed below.")}</p> }
    });
    let chain = (!unhealthy.is_empty()).then(|| {
        view! { <ul class="cause">{unhealthy.into_iter().take(OBJECTS_MAX).map(object_item).collect_view()}</ul> }
    });
    view! {
        <section class="stack-sm">
            <h2 class="section">"Why"</h2>
            <p class="flex flex-wrap items-center gap-1">
                {look.with_label(view.state.label())} <span>"for " <Age since=view.release.state_since() at=at /></span>
                {view
                    .release
                    .reported_at()
                    .map(|reported| view! { <span class="text-3">"· reported " <Age since=reported at=at suffix=" ago" /></span> })}
            </p>
            {message.map(|message| view! { <p class="text-2">{message}</p> })}
            {chain}
            {more}
            {stage_message}
            {details.into_iter().map(show_detail).collect_view()}
        </section>
    }
    .into_any()
}

/// Whether an object explains a failure: it is broken, was rejected, or its pods have a cause.
pub(super) fn is_unhealthy(resource: &ResourceStatus) -> bool {
    matches!(resource.health.status, HealthStatus::Degraded | HealthStatus::Missing)
        || resource.problem.is_some()
        || !resource.causes.is_empty()
}

/// The message of the current stage, unless the chain of causes has it.
fn describe_stage(view: &ReleaseView, unhealthy: &[ResourceStatus]) -> Option<AnyView> {
    let stage = view.release.stages().current()?;
    let reason = stage.state.reason()?.clone();
    let messages = unhealthy.iter().flat_map(|resource| {
        let health = std::iter::once(resource.health.message.clone());
        health.chain(resource.causes.iter().cloned())
    });
    if messages.filter(|message| !message.is_empty()).any(|message| reason.message.contains(&message)) {
        return None;
    }
    Some(
        view! {
            <pre class="raw">
                <span class="text-3">
                    {format!("{}, {}, attempt {}\n", stage.name.label(), reason.reason, reason.attempts.max(1))}
                </span>
                {reason.message}
            </pre>
        }
        .into_any(),
    )
}

/// The texts of the cluster, each once.
fn collect_details(unhealthy: &[ResourceStatus]) -> Vec<FailureCause> {
    let mut details: Vec<FailureCause> = Vec::new();
    for cause in unhealthy.iter().take(OBJECTS_MAX).flat_map(|resource| &resource.failure_causes) {
        if !cause.detail.is_empty() && details.iter().all(|known| known.detail != cause.detail) {
            details.push(cause.clone());
        }
    }
    details
}

/// Whether a text is shown at once: it takes at most three lines.
fn is_short(text: &str) -> bool {
    const LINE: usize = 100;
    text.lines().map(|line| line.chars().count().div_ceil(LINE)).sum::<usize>() <= 3
}

/// The source of a text: `web-1, web`, and ` · 2 pods · 3 restarts` where there are several.
fn describe_source(cause: &FailureCause) -> (String, String) {
    let names = [cause.pod.as_str(), cause.container.as_str()];
    let subject = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
    let pods = (cause.pods > 1).then(|| format!(" · {}", pluralize(cause.pods, "pod")));
    let restarts = (cause.restarts > 0).then(|| format!(" · {}", pluralize(cause.restarts, "restart")));
    (subject, pods.into_iter().chain(restarts).collect())
}

/// The whole text of the cluster about one cause; a long one on demand.
fn show_detail(cause: FailureCause) -> impl IntoView {
    let (subject, numbers) = describe_source(&cause);
    let is_short = is_short(&cause.detail);
    view! {
        <details class="fold" open=is_short>
            <summary>
                <span class="shrink-0">"Reported by the cluster "</span>
                <span class="text-3"><span class="mono break-all">{subject}</span> {numbers}</span>
            </summary>
            <pre class="raw">{cause.detail}</pre>
        </details>
    }
}

fn object_item(resource: ResourceStatus) -> AnyView {
    let look = match resource.health.status {
        HealthStatus::Healthy => StatusStyle::from_health(HealthStatus::Progressing),
        status => StatusStyle::from_health(status),
    };
    let message = own_message(&resource);
    let below = (!resource.causes.is_empty())
        .then(|| view! { <ul>{resource.list_causes().into_iter().map(cause_item).collect_view()}</ul> });
    view! {
        <li>
            <span class=format!("cause-line {}", look.hue)>
                {icon(look.icon)}
                {resource.object.kind.clone()}
                " "
                <b class="name">{qualified_name(&resource.object)}</b>
                " "
                {message}
            </span>
            {below}
        </li>
    }
    .into_any()
}

/// What the object itself reports, without what its pods do: that is in the lines below.
fn own_message(resource: &ResourceStatus) -> String {
    let mut message = resource.health.message.clone();
    for cause in &resource.causes {
        message = message.replace(cause, "");
    }
    let message = message.trim_end_matches([' ', ';']).to_owned();
    if message.is_empty() { resource.health.status.label().to_lowercase() } else { message }
}

/// A cause: the pod, below it the container; one line if only one of them is known.
fn cause_item(cause: FailureCause) -> AnyView {
    let hue = StatusStyle::from_health(cause.status.max(HealthStatus::Progressing)).hue;
    let summary = cause.summary_with_restarts();
    let others = match cause.pods {
        0 | 1 => String::new(),
        n => format!("and {} more", pluralize(n - 1, "pod")),
    };
    let container = |nested: &str| {
        let summary = summary.clone();
        view! {
            <span class=format!("cause-line {hue}")>
                {icon("error")} {nested.to_owned()} <b class="name">{cause.container.clone()}</b> <span>{summary}</span>
            </span>
        }
    };
    match (cause.pod.is_empty(), cause.container.is_empty()) {
        (true, true) => view! { <li><span class=format!("cause-line {hue}")>{icon("error")} <span>{summary}</span></span></li> }.into_any(),
        (true, false) => view! { <li>{container("Container ")}</li> }.into_any(),
        (false, true) => view! {
            <li>
                <span class=format!("cause-line {hue}")>
                    {icon("error")} "Pod " <b class="name">{cause.pod.clone()}</b> <span>{summary} " " {others}</span>
                </span>
            </li>
        }
        .into_any(),
        (false, false) => view! {
            <li>
                <span class=format!("cause-line {hue}")>
                    {icon("degraded")} "Pod " <b class="name">{cause.pod.clone()}</b> <span>{others}</span>
                </span>
                <ul><li>{container("Container ")}</li></ul>
            </li>
        }
        .into_any(),
    }
}

/// `namespace/name`, or the name of an object of the cluster.
pub(super) fn qualified_name(object: &ObjectRef) -> String {
    match object.namespace.as_str() {
        "" => object.name.clone(),
        namespace => format!("{namespace}/{}", object.name),
    }
}

#[cfg(test)]
mod tests {
    use domain::health::Health;

    use super::*;

    fn cause(summary: &str) -> FailureCause {
        FailureCause {
            container: "web".to_owned(),
            detail: "the whole text".to_owned(),
            ..FailureCause::from_sentence(summary)
        }
    }

    #[test]
    fn the_message_of_an_object_does_not_repeat_that_of_its_pods() {
        let with_message = |message: &str| ResourceStatus {
            health: Health::new(HealthStatus::Degraded, "ImagePullFailed", message),
            causes: vec![cause("cannot pull image web:9").message()],
            ..ResourceStatus::default()
        };
        let own = |message| own_message(&with_message(message));
        assert_eq!(own("0 of 2 pods ready; container web cannot pull image web:9"), "0 of 2 pods ready");
        assert_eq!(own("container web cannot pull image web:9"), "degraded");
    }

    #[test]
    fn a_text_of_the_cluster_names_its_source_and_how_many_pods_report_it() {
        let mut cause = FailureCause { pod: "shop-1".to_owned(), pods: 1, ..cause("cannot pull image") };
        assert_eq!(describe_source(&cause), ("shop-1, web".to_owned(), String::new()));
        (cause.pods, cause.restarts) = (2, 3);
        assert_eq!(describe_source(&cause).1, " · 2 pods · 3 restarts");
    }

    #[test]
    fn a_text_of_three_lines_is_shown_at_once() {
        assert!(is_short("one\ntwo\nthree"));
        assert!(!is_short(&"word ".repeat(70)));
    }

    #[test]
    fn a_text_of_the_cluster_is_shown_once() {
        let resource =
            ResourceStatus { failure_causes: vec![cause("a"), cause("b")], ..ResourceStatus::default() };
        assert_eq!(collect_details(&[resource.clone(), resource]).len(), 1);
    }
}
