//! "Break it": on a demo's simulated clusters, do what goes wrong in life and watch it being put right.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::{Banner, Look, Said, icon};
use crate::errors::Answer;
use crate::live;

/// What can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DemoAction {
    /// Delete an applied object.
    DeleteObject,
    /// Change the replicas of a Deployment by hand.
    ChangeReplicas,
    /// Change an image by hand.
    ChangeImage,
    /// Cut the cluster off.
    TakeOffline,
    /// Let it be heard again.
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

    const fn face(self) -> (&'static str, &'static str) {
        match self {
            Self::DeleteObject => ("trash", "Delete an object"),
            Self::ChangeReplicas => ("edit", "Change replicas by hand"),
            Self::ChangeImage => ("edit", "Change an image by hand"),
            Self::TakeOffline => ("offline", "Take it offline"),
            Self::BringBack => ("online", "Bring it back"),
        }
    }
}

/// Breaks something on a simulated cluster, or mends it. Only a demo has this.
#[server(prefix = "/api/fn", endpoint = "demo_break")]
pub async fn demo_break(name: String, action: DemoAction) -> Answer<String> {
    use crate::{errors::AppError, host};
    host::actor()?;
    let demo =
        host::demo().ok_or_else(|| host::refused(AppError::NotNow("This is not a demo.".to_owned())))?;
    demo.act(&name, action).await.map_err(|why| host::refused(AppError::NotNow(why)))
}

/// The menu, and what it did.
#[component]
pub fn BreakIt(name: String, action: ServerAction<DemoBreak>) -> impl IntoView {
    Effect::new(move |_| {
        if action.value().with(Option::is_some) {
            live::page::close_menu("break-menu");
        }
    });
    let entry = |one: DemoAction| {
        let (icon_name, word) = one.face();
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

/// What the last act did.
#[component]
pub fn Broken(action: ServerAction<DemoBreak>) -> impl IntoView {
    move || match action.value().get() {
        Some(Ok(done)) => view! {
            <Banner look=Look { icon: "break", hue: "hue-drifted", loud: "state-look" }>
                <p>
                    <b>{done}</b>
                    " Watch it being noticed and put right."
                </p>
            </Banner>
        }
        .into_any(),
        Some(Err(error)) => view! { <Said error=error /> }.into_any(),
        None => ().into_any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_sent_as_the_word_it_is_read_by() {
        for action in DemoAction::ALL {
            assert_eq!(serde_json::to_string(&action).unwrap(), format!("{:?}", action.slug()));
        }
    }
}
