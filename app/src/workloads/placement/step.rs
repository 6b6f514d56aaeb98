//! The step for the placement.

use leptos::prelude::*;
use leptos_meta::Title;

use super::tab::{PlacementEditor, PlacementSave, placement_read};
use crate::components::render_resource;
use crate::resource::create_resource;
use crate::workloads::form_page::watch_left_form;
use crate::workloads::wizard::{WizardFooter, WizardStep, workload_name};

/// The page.
#[component]
pub fn PlacementPage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<PlacementSave>::new();
    let is_left = watch_left_form();
    let data = create_resource(move || (name.get(), is_left.get()), |(name, _)| placement_read(name));
    view! {
        {move || view! { <Title text=format!("Placement of {}", name.get()) /> }}
        {render_resource(data, move |data| {
            view! {
                <PlacementEditor
                    data=data
                    action=action
                    footer=|findings, busy, status| view! { <WizardFooter step=WizardStep::Placement findings=findings busy=busy status=status /> }.into_any()
                />
            }
                .into_any()
        })}
    }
    .into_any()
}
