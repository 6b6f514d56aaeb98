//! The wizard: a draft is edited in steps. Each step is a plain form that works without JavaScript.
//!
//! # Structure of a step
//!
//! The page of a step loads the [`Workload`](domain::workload::Workload) and renders one form with the id [`FORM`]:
//!
//! ```text
//! <ActionForm action=action attr:id=wizard::FORM>
//!     <input type="hidden" name="name" value=name />
//!     <input type="hidden" name="base_revision" value=revision />
//!     …fields…
//!     <WizardFoot step=Step::Placement findings=findings busy=action.pending() />
//! </ActionForm>
//! ```
//!
//! Its server function has a parameter `then: String`, stores the draft, and ends with
//! [`redirect_after`]`(&name, step, &then)`. The buttons of footer and rail are submit buttons of that form with
//! `name="then"`: `stay`, `back`, `next`, `review`, `leave`, or the slug of a [`WizardStep`]; so the form
//! is stored before any of them leaves the step. `then` has `#[server(default)]`: a tab that uses the same server function
//! outside the wizard sends none and stays.
//!
//! The frame ([`WizardFrame`]) replaces the main navigation by the steps, with the findings of each step.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

mod autosave;
mod draft_status;
mod footer;
mod frame;
mod overrides;
mod placement;
mod policies;
mod rail;
mod rollout;
mod source;
mod step;

pub use footer::WizardFooter;
pub use frame::WizardFrame;
pub use overrides::OverridesPage;
pub use placement::PlacementPage;
pub use policies::PoliciesPage;
pub use rollout::RolloutPage;
pub use source::SourcePage;
pub use step::WizardStep;

/// Id of the form of a step; the rail's buttons belong to it.
pub const FORM: &str = "step";

/// The last call of a step's server function: redirects to the target of the pressed button. `stay` and unknown values do not
/// redirect: without JavaScript the browser returns to the page of the step.
#[cfg(feature = "ssr")]
pub fn redirect_after(name: &str, step: WizardStep, then: &str) {
    if let Some(path) = step.target_path(name, then) {
        leptos_axum::redirect(&path);
    }
}

/// The name of the workload in the URL.
fn workload_name() -> Memo<String> {
    let params = use_params_map();
    Memo::new(move |_| params.read().get("name").unwrap_or_default())
}

/// The draft revision that the form is based on: the loaded one, then the one of each save.
fn track_base_revision(begin: i64, saved: impl Fn() -> Option<i64> + 'static) -> RwSignal<i64> {
    let base_revision = RwSignal::new(begin);
    Effect::new(move |_| {
        if let Some(revision) = saved() {
            base_revision.set(revision);
        }
    });
    base_revision
}
