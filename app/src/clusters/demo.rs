//! "Break it": injects faults into a demo's simulated clusters, to show how they are repaired.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::{Banner, ErrorBanner, StatusStyle, icon};
use crate::errors::AppResult;
use crate::live;

/// A fault to inject, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DemoAction {
    /// Delete an applied object.
    DeleteObject,
    /// Change the replicas of a Deployment by hand.
    ChangeReplicas,
    /// Change an image by hand.
    ChangeImage,
    /// Disconnect the cluster.
    TakeOffline,
    /// Reconnect the cluster.
    BringBack,
}

impl DemoAction {
    /// All of them, in the order shown.
    pub const ALL: [Self; 5] =
        [Self::DeleteObject, Self::ChangeReplicas, Self::ChangeImage, Self::TakeOffline, Self::BringBack];

    const fn slug(self) -> &'static str {
        match self {
            Self::DeleteObject => "deleteObject",
            Self::ChangeReplicas => "changeReplicas",
            Self::ChangeImage => "changeImage",
            Self::TakeOffline => "takeOffline",
            Self::BringBack => "bringBack",
        }
    }

    const fn icon_and_label(self) -> (&'static str, &'static str) {
        match self {
            Self::DeleteObject => ("trash", "Delete an object"),
            Self::ChangeReplicas => ("edit", "Change replicas by hand"),
            Self::ChangeImage => ("edit", "Change an image by hand"),
            Self::TakeOffline => ("offline", "Take it offline"),
            Self::BringBack => ("online", "Bring it back"),
        }
    }
}

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
        let (icon_name, word) = one.icon_and_label();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slug_equals_the_serialized_action() {
        for action in DemoAction::ALL {
            assert_eq!(serde_json::to_string(&action).unwrap(), format!("{:?}", action.slug()));
        }
    }
}
