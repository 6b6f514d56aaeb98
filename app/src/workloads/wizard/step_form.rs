//! What the forms of all steps have in common.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

/// Id of the form of a step; the rail's buttons belong to it.
pub const FORM: &str = "step";

/// The last call of a step's server function: redirects to the target of the pressed button. `stay` and unknown values do not
/// redirect: without JavaScript the browser returns to the page of the step.
#[cfg(feature = "ssr")]
pub fn redirect_after(name: &str, step: super::step::WizardStep, then: &str) {
    if let Some(path) = step.target_path(name, then) {
        leptos_axum::redirect(&path);
    }
}

/// The name of the workload in the URL.
pub fn workload_name() -> Memo<String> {
    let params = use_params_map();
    Memo::new(move |_| params.read().get("name").unwrap_or_default())
}
