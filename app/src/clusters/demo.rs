//! "Break it": injects faults into a demo's simulated clusters, to show how they are repaired.

use leptos::prelude::*;

use crate::components::{Banner, ErrorBanner, StatusStyle, icon};
use crate::demo_action::DemoAction;
use crate::errors::AppResult;
use crate::live;

/// Injects a fault into a simulated cluster, or ends it. Returns a sentence that says what was done. Only for a demo.
#[server(prefix = "/api/fn", endpoint = "inject_demo_fault")]
pub async fn inject_demo_fault(name: String, action: DemoAction) -> AppResult<String> {
    use crate::{errors::AppError, host};
    host::actor()?;
    let demo = host::demo_controls()
        .ok_or_else(|| host::with_status(AppError::FailedPrecondition("This is not a demo.".to_owned())))?;
    demo.run_action(&name, action).await.map_err(|why| host::with_status(AppError::FailedPrecondition(why)))
}

/// The menu of faults.
#[component]
pub fn FaultMenu(name: String, action: ServerAction<InjectDemoFault>) -> impl IntoView {
    Effect::new(move |_| {
        if action.value().with(Option::is_some) {
            live::page::close_menu("break-menu");
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
        <button class="btn" type="button" popovertarget="break-menu">
            {icon("break")}
            "Break it"
        </button>
        <div class="popover" id="break-menu" popover="auto">
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                {DemoAction::ALL.map(entry).collect_view()}
            </ActionForm>
        </div>
    }
    .into_any()
}

/// The result of the last action.
#[component]
pub fn FaultResult(action: ServerAction<InjectDemoFault>) -> impl IntoView {
    move || match action.value().get() {
        Some(Ok(result)) => view! {
            <Banner look=StatusStyle { icon: "break", hue: "hue-drifted", emphasis: "state-attention" }>
                <p>
                    <b>{result}</b>
                    " Flotilla detects and repairs it."
                </p>
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
        DemoAction::TakeOffline => ("offline", "Take it offline"),
        DemoAction::BringBack => ("online", "Bring it back"),
    }
}
