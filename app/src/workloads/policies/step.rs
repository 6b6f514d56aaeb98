//! The step for the policies.

use leptos::prelude::*;
use leptos_meta::Title;

use super::tab::{PoliciesEditor, PoliciesSave};
use crate::components::render_resource;
use crate::resource::create_resource;
use crate::workloads::form_page::watch_left_form;
use crate::workloads::queries::draft_read;
use crate::workloads::wizard::{WizardFooter, WizardStep, workload_name};

/// The page.
#[component]
pub fn PoliciesPage() -> impl IntoView {
    let name = workload_name();
    let action = ServerAction::<PoliciesSave>::new();
    let is_left = watch_left_form();
    let data = create_resource(move || (name.get(), is_left.get()), |(name, _)| draft_read(name, false));
    view! {
        {move || view! { <Title text=format!("Policies of {}", name.get()) /> }}
        {render_resource(data, move |content| {
            view! {
                <PoliciesEditor
                    workload=content.workload
                    action=action
                    footer=|findings, busy, status| view! { <WizardFooter step=WizardStep::Policies findings=findings busy=busy status=status /> }.into_any()
                />
            }
                .into_any()
        })}
    }
    .into_any()
}
