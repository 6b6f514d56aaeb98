//! Suspends and resumes workloads, workloads on one cluster, and clusters; shows who did and what a resume changes (S2-11).

use domain::authorization::UserAction;
use domain::suspension::{MAX_REASON_CHARS, ResumeEffect, SuspensionDetails, SuspensionScope};
use leptos::prelude::*;

use crate::components::error::action_error;
use crate::components::{Banner, StatusStyle};
use crate::errors::AppResult;
use crate::permission::Permission;

/// Effects of a resume that are shown at most; the others are counted.
const MAX_SHOWN_EFFECTS: usize = 10;

/// The style of what is suspended.
const SUSPENDED: StatusStyle = StatusStyle { icon: "suspended", hue: "hue-paused", emphasis: "state-loud" };

/// Suspends a workload on `cluster`; everywhere if `cluster` is empty.
#[server(prefix = "/api/fn", endpoint = "workload_suspend")]
pub async fn workload_suspend(
    name: String,
    #[server(default)] cluster: String,
    reason: String,
) -> AppResult<()> {
    use crate::{host, paths};
    let clusters: Vec<String> = if cluster.is_empty() { Vec::new() } else { vec![cluster] };
    let request = domain::suspension::SuspendRequest { reason, clusters };
    host::into_app_result(host::hub()?.suspend_workload(&host::actor()?, &name, &request).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// Resumes a workload on `cluster`, where it is suspended alone; what was suspended everywhere if `cluster` is empty.
#[server(prefix = "/api/fn", endpoint = "workload_resume")]
pub async fn workload_resume(name: String, #[server(default)] cluster: String) -> AppResult<()> {
    use crate::{host, paths};
    let clusters: Vec<String> = if cluster.is_empty() { Vec::new() } else { vec![cluster] };
    let request = domain::suspension::ResumeRequest { clusters };
    host::into_app_result(host::hub()?.resume_workload(&host::actor()?, &name, &request).await)?;
    leptos_axum::redirect(&paths::workload(&name));
    Ok(())
}

/// Suspends a cluster.
#[server(prefix = "/api/fn", endpoint = "cluster_suspend")]
pub async fn cluster_suspend(name: String, reason: String) -> AppResult<()> {
    use crate::{host, paths};
    let request = domain::suspension::ClusterSuspendRequest { reason };
    host::into_app_result(host::hub()?.suspend_cluster(&host::actor()?, &name, &request).await)?;
    leptos_axum::redirect(&paths::cluster(&name));
    Ok(())
}

/// Resumes a cluster.
#[server(prefix = "/api/fn", endpoint = "cluster_resume")]
pub async fn cluster_resume(name: String) -> AppResult<()> {
    use crate::{host, paths};
    host::into_app_result(host::hub()?.resume_cluster(&host::actor()?, &name).await)?;
    leptos_axum::redirect(&paths::cluster(&name));
    Ok(())
}

/// Who suspended a workload, everywhere or on some clusters, what a resume changes, and the buttons that resume it; nothing if it is
/// not suspended.
#[component]
pub fn WorkloadSuspension(
    /// The workload.
    name: String,
    /// What is suspended of it.
    details: SuspensionDetails,
) -> impl IntoView {
    let action = ServerAction::<WorkloadResume>::new();
    let SuspensionDetails { suspension, clusters, effects, more } = details;
    if suspension.is_none() && clusters.is_empty() {
        return ().into_any();
    }
    let whole = suspension.map(|suspension| {
        let lines = effect_list(&effects, SuspensionScope::Workload, more);
        let button = resume_form(name.clone(), String::new(), action);
        let text = format!("{}.", suspension.to_string().trim_end_matches('.'));
        view! {
            <p>{text}</p>
            {lines}
            {button}
        }
    });
    let alone = clusters.into_iter().map(|cluster| {
        let here: Vec<ResumeEffect> = effects.iter().filter(|one| one.cluster == cluster).cloned().collect();
        let lines = effect_list(&here, SuspensionScope::Release, 0);
        let text = format!("Suspended on {cluster}.");
        let button = resume_form(name.clone(), cluster, action);
        view! {
            <div class="stack-sm">
                <p>{text}</p>
                {lines}
                {button}
            </div>
        }
    });
    let alone = alone.collect_view();
    view! {
        <Banner look=SUSPENDED>
            <div class="stack-sm grow">
                {whole}
                {alone}
                {action_error(action.value())}
            </div>
        </Banner>
    }
    .into_any()
}

/// Who suspended a cluster, what a resume changes of its workloads, and the button that resumes it; nothing if it is not suspended.
#[component]
pub fn ClusterSuspension(
    /// The cluster.
    name: String,
    /// Its suspension.
    details: SuspensionDetails,
) -> impl IntoView {
    let action = ServerAction::<ClusterResume>::new();
    let SuspensionDetails { suspension, effects, more, .. } = details;
    let Some(suspension) = suspension else { return ().into_any() };
    let text = format!("{}.", suspension.to_string().trim_end_matches('.'));
    let lines = effect_list(&effects, SuspensionScope::Cluster, more);
    view! {
        <Banner look=SUSPENDED>
            <div class="stack-sm grow">
                <p>{text}</p>
                {lines}
                <ActionForm action=action>
                    <Permission action=UserAction::Suspend>
                        <input type="hidden" name="name" value=name />
                        <button class="btn btn-sm" type="submit">
                            "Resume"
                        </button>
                    </Permission>
                </ActionForm>
                {action_error(action.value())}
            </div>
        </Banner>
    }
    .into_any()
}

/// The form that suspends a workload: everywhere, or on the cluster that is given.
#[component]
pub fn SuspendWorkload(
    /// The workload.
    name: String,
    /// The only cluster; empty for all.
    #[prop(optional)]
    cluster: String,
) -> impl IntoView {
    let action = ServerAction::<WorkloadSuspend>::new();
    let title = match cluster.as_str() {
        "" => format!("Suspend {name}"),
        cluster => format!("Suspend {name} on {cluster}"),
    };
    let label = format!("Reason to suspend {name}");
    view! {
        <details class="fold">
            <summary>{title}</summary>
            <p class="meta pt-2">{MEANING}</p>
            <ActionForm action=action attr:class="flex flex-wrap gap-2 pt-2 pb-4">
                <Permission action=UserAction::Suspend>
                    <input type="hidden" name="name" value=name />
                    <input type="hidden" name="cluster" value=cluster />
                    {reason_input(label)}
                    <button class="btn" type="submit">
                        "Suspend"
                    </button>
                </Permission>
            </ActionForm>
            {action_error(action.value())}
        </details>
    }
    .into_any()
}

/// The form that suspends a cluster.
#[component]
pub fn SuspendCluster(
    /// The cluster.
    name: String,
) -> impl IntoView {
    let action = ServerAction::<ClusterSuspend>::new();
    let title = format!("Suspend {name}");
    let label = format!("Reason to suspend {name}");
    view! {
        <details class="fold">
            <summary>{title}</summary>
            <p class="meta pt-2">{MEANING}</p>
            <ActionForm action=action attr:class="flex flex-wrap gap-2 pt-2 pb-4">
                <Permission action=UserAction::Suspend>
                    <input type="hidden" name="name" value=name />
                    {reason_input(label)}
                    <button class="btn" type="submit">
                        "Suspend"
                    </button>
                </Permission>
            </ActionForm>
            {action_error(action.value())}
        </details>
    }
    .into_any()
}

/// What a suspension does.
const MEANING: &str = "Until it is resumed, nothing is applied, reverted or deleted. Drift is still reported, and what is published \
     meanwhile waits. Nothing is removed.";

fn reason_input(label: String) -> AnyView {
    view! {
        <input
            class="input max-w-md"
            name="reason"
            placeholder="Why"
            aria-label=label
            maxlength=MAX_REASON_CHARS.to_string()
            required=true
            autocomplete="off"
        />
    }
    .into_any()
}

fn resume_form(name: String, cluster: String, action: ServerAction<WorkloadResume>) -> AnyView {
    let label = if cluster.is_empty() { "Resume".to_owned() } else { format!("Resume on {cluster}") };
    view! {
        <ActionForm action=action>
            <Permission action=UserAction::Suspend>
                <input type="hidden" name="name" value=name />
                <input type="hidden" name="cluster" value=cluster />
                <button class="btn btn-sm" type="submit">
                    {label}
                </button>
            </Permission>
        </ActionForm>
    }
    .into_any()
}

/// What changes when a suspension of `scope` ends: the first effects, and the number of the others, of which `more` are not in `effects`.
fn effect_list(effects: &[ResumeEffect], scope: SuspensionScope, more: u32) -> AnyView {
    let concerned: Vec<&ResumeEffect> = effects.iter().filter(|one| one.scopes.contains(&scope)).collect();
    let hidden = concerned.len().saturating_sub(MAX_SHOWN_EFFECTS);
    let hidden = hidden.saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
    let lines: Vec<String> =
        concerned.iter().take(MAX_SHOWN_EFFECTS).map(|one| one.describe(scope)).collect();
    if lines.is_empty() {
        return ().into_any();
    }
    let rest = (hidden > 0).then(|| view! { <li class="meta">{format!("and {hidden} more")}</li> });
    let items = lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view();
    view! {
        <p class="meta">"When it is resumed:"</p>
        <ul class="stack-sm">
            {items}
            {rest}
        </ul>
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::Timestamp;
    use domain::suspension::Suspension;

    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn s2_11_a_suspended_workload_shows_by_whom_and_what_a_resume_changes() {
        let suspension = Suspension {
            scope: SuspensionScope::Workload,
            by: "ann".to_owned(),
            since: Timestamp::from_millis(0),
            reason: "handover".to_owned(),
        };
        let effect = ResumeEffect {
            workload: "web".to_owned(),
            cluster: "eu-1".to_owned(),
            scopes: vec![SuspensionScope::Workload],
            applied_revision: Some(1),
            next_revision: Some(2),
            ..ResumeEffect::default()
        };
        let details = SuspensionDetails {
            suspension: Some(suspension),
            effects: vec![effect],
            ..SuspensionDetails::default()
        };
        let html = render_html(
            move || view! { <WorkloadSuspension name="web".to_owned() details=details.clone() /> },
        );
        for part in ["suspended by ann", "handover.", "revision 2 replaces revision 1", "Resume"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let none = render_html(|| {
            view! { <WorkloadSuspension name="web".to_owned() details=SuspensionDetails::default() /> }
        });
        assert!(!none.contains("banner"), "{none}");
    }
}
