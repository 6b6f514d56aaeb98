//! The button that saves a draft on a tab; disabled, with the reason, while the draft can't be edited.

use domain::workload::Workload;
use leptos::prelude::*;

use crate::components::DisabledButton;

/// The button with this label.
pub fn save_button(workload: &Workload, label: &'static str) -> AnyView {
    match domain::actions::check_edit(workload) {
        Ok(()) => view! { <button class="btn btn-primary" type="submit">{label}</button> }.into_any(),
        Err(why) => {
            view! { <DisabledButton verb=label.to_owned() why=why.to_string() id="why-edit" /> }.into_any()
        }
    }
}
