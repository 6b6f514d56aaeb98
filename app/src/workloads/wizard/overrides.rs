//! The step that asks what differs on some clusters.

use leptos::prelude::*;
use leptos_meta::Title;

use super::{Step, WizardFoot, named};
use crate::components::loaded;
use crate::workloads::overrides_tab::{OverrideRemove, OverrideSave, OverridesEdit, overrides_read, stored};

/// The page.
#[component]
pub fn OverridesPage() -> impl IntoView {
    let name = named();
    let (save, remove) = (ServerAction::<OverrideSave>::new(), ServerAction::<OverrideRemove>::new());
    let stored = stored(save, remove);
    let data = Resource::new(move || (name.get(), stored.get()), |(name, _)| overrides_read(name));
    view! {
        {move || view! { <Title text=format!("Overrides of {}", name.get()) /> }}
        {loaded(data, move |data| {
            view! {
                <OverridesEdit
                    data=data
                    save=save
                    remove=remove
                    foot=|findings, busy| view! { <WizardFoot step=Step::Overrides findings=findings busy=busy /> }.into_any()
                />
            }
                .into_any()
        })}
    }
    .into_any()
}
