//! Injects faults into the simulated clusters of a demo, to show how they are repaired.

use domain::authorization::UserAction;
use leptos::prelude::*;

use crate::components::{Banner, ErrorBanner, StatusStyle, icon};
use crate::demo_action::DemoAction;
use crate::errors::AppResult;
use crate::live;
use crate::permission::Permission;

/// Injects a fault into a simulated cluster, or into a workload on it, or ends it. Returns sentences that say what was done. Only for a
/// demo.
#[server(prefix = "/api/fn", endpoint = "inject_demo_fault")]
pub async fn inject_demo_fault(
    name: String,
    #[server(default)] workload: String,
    action: DemoAction,
) -> AppResult<String> {
    use crate::{errors::AppError, host};
    host::into_app_result(host::actor()?.authorize(UserAction::InjectFault))?;
    let demo = host::demo_controls()
        .ok_or_else(|| host::with_status(AppError::FailedPrecondition("This is not a demo.".to_owned())))?;
    demo.run_action(&name, &workload, action)
        .await
        .map_err(|why| host::with_status(AppError::FailedPrecondition(why)))
}

/// The menu of faults.
#[component]
pub fn FaultMenu(
    /// Name of the cluster.
    name: String,
    /// Injects the fault.
    action: ServerAction<InjectDemoFault>,
    /// Selects the workload.
    children: Children,
) -> impl IntoView {
    Effect::new(move |_| {
        if action.value().with(Option::is_some) {
            live::page::close_menu("fault-menu");
        }
    });
    let entry = |one: DemoAction| {
        let (icon_name, word) = icon_and_label(one);
        view! {
            <button class="menu-item" type="submit" name="action" value=one.slug()>
                {icon(icon_name)}
                {word}
            </button>
        }
    };
    view! {
        <button class="btn" type="button" popovertarget="fault-menu">
            {icon("fault")}
            "Inject fault"
        </button>
        <div class="popover" id="fault-menu" popover="auto">
            <ActionForm action=action>
                <Permission action=UserAction::InjectFault>
                    <input type="hidden" name="name" value=name />
                    {children()}
                    {DemoAction::ALL.map(entry).collect_view()}
                </Permission>
            </ActionForm>
        </div>
    }
    .into_any()
}

/// Selects the workload of a fault, of those on the cluster. Also of one: the items below would move when another one arrives.
pub fn choose_workload(workloads: Vec<String>) -> AnyView {
    match workloads.as_slice() {
        [] => view! { <p class="meta px-2.5 py-1">"No workload runs here: publish one to this cluster first."</p> }.into_any(),
        _ => view! {
            <div class="field px-2.5 pb-2 pt-1">
                <label class="field-label" for="fault-workload">
                    "Workload"
                </label>
                <select class="select" id="fault-workload" name="workload">
                    {workloads.iter().map(|name| view! { <option value=name.clone()>{name.clone()}</option> }).collect_view()}
                </select>
            </div>
        }
        .into_any(),
    }
}

/// The result of the last action.
#[component]
pub fn FaultResult(action: ServerAction<InjectDemoFault>) -> impl IntoView {
    move || match action.value().get() {
        Some(Ok(result)) => view! {
            <Banner look=StatusStyle { icon: "fault", hue: "hue-drifted", emphasis: "state-attention" }>
                <p>{result}</p>
            </Banner>
        }
        .into_any(),
        Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
        None => ().into_any(),
    }
}

const fn icon_and_label(action: DemoAction) -> (&'static str, &'static str) {
    match action {
        DemoAction::DeleteObject => ("trash", "Delete an object"),
        DemoAction::ChangeReplicas => ("edit", "Change replicas by hand"),
        DemoAction::ChangeImage => ("edit", "Change an image by hand"),
        DemoAction::FailImagePulls => ("error", "Fail image pulls"),
        DemoAction::CrashContainers => ("error", "Crash containers"),
        DemoAction::RestoreImage => ("undo", "Restore the image"),
        DemoAction::Disconnect => ("offline", "Disconnect"),
        DemoAction::Reconnect => ("online", "Reconnect"),
    }
}
