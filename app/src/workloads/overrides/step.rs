//! The step for overrides.

use leptos::prelude::*;
use leptos_meta::Title;

use super::actions::{OverrideRemove, OverrideSave, overrides_read};
use super::tab::{OverridesEditor, count_saves};
use crate::components::render_resource;
use crate::workloads::form_page::watch_left_form;
use crate::workloads::queries::{create_file_resource, show_files};
use crate::workloads::wizard::{WizardFooter, WizardStep, workload_name};

/// The page.
#[component]
pub fn OverridesPage() -> impl IntoView {
    let name = workload_name();
    let (save, remove) = (ServerAction::<OverrideSave>::new(), ServerAction::<OverrideRemove>::new());
    let stored = count_saves(save, remove);
    let is_left = watch_left_form();
    let data = create_file_resource(
        move || (name.get(), stored.get(), is_left.get()),
        |(name, ..), is_whole| overrides_read(name, is_whole),
    );
    view! {
        {move || view! { <Title text=format!("Overrides of {}", name.get()) /> }}
        {render_resource(data, move |data| {
            show_files(
                data,
                |data| {
                    view! {
                        <OverridesEditor
                            data=data
                            save=save
                            remove=remove
                            footer=|findings, busy, status| view! { <WizardFooter step=WizardStep::Overrides findings=findings busy=busy status=status /> }.into_any()
                        />
                    }
                        .into_any()
                },
            )
        })}
    }
    .into_any()
}
