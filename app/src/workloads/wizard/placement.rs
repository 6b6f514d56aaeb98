//! The step that asks where a workload belongs.

use leptos::prelude::*;
use leptos_meta::Title;

use super::{Step, WizardFoot, named};
use crate::components::loaded;
use crate::workloads::placement_tab::{PlacementEdit, PlacementSave, placement_read};

/// The page.
#[component]
pub fn PlacementPage() -> impl IntoView {
    let name = named();
    let action = ServerAction::<PlacementSave>::new();
    let data = Resource::new(move || name.get(), placement_read);
    view! {
        {move || view! { <Title text=format!("Placement of {}", name.get()) /> }}
        {loaded(data, move |data| {
            view! {
                <PlacementEdit
                    data=data
                    action=action
                    foot=|findings, busy| view! { <WizardFoot step=Step::Placement findings=findings busy=busy /> }.into_any()
                />
            }
                .into_any()
        })}
    }
    .into_any()
}
