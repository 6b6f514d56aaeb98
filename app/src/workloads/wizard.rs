//! The wizard: a draft described in steps. Every step is a plain form that works without script.
//!
//! # What a step is made of
//!
//! The page of a step loads the [`Workload`](domain::workload::Workload) and renders one form with the id [`FORM`]:
//!
//! ```text
//! <ActionForm action=action attr:id=wizard::FORM>
//!     <input type="hidden" name="name" value=name />
//!     <input type="hidden" name="seen" value=revision />
//!     …fields…
//!     <WizardFoot step=Step::Placement findings=findings busy=action.pending() />
//! </ActionForm>
//! ```
//!
//! Its server function takes `then: String` beside its fields, stores the draft, and ends with
//! [`go_on`]`(&name, step, &then)`. The buttons of foot and rail are submit buttons of that form with
//! `name="then"`: `stay`, `back`, `next`, `review`, `leave`, or the slug of a [`Step`]; so whichever way a person
//! leaves a step, what stands in its form is stored first. Give `then` a `#[server(default)]`: a tab that uses the same
//! server function outside the wizard sends none and stays.
//!
//! The frame ([`WizardFramed`]) replaces the rail of rooms by the steps and says what the guard rails found in each.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

mod foot;
mod frame;
mod keep;
mod overrides;
mod placement;
mod policies;
mod rail;
mod rollout;
mod source;
mod standing;
mod step;

pub use foot::WizardFoot;
pub use frame::WizardFramed;
pub use overrides::OverridesPage;
pub use placement::PlacementPage;
pub use policies::PoliciesPage;
pub use rollout::RolloutPage;
pub use source::SourcePage;
pub use step::Step;

/// Id of the form of a step; the rail's buttons belong to it.
pub const FORM: &str = "step";

/// The last line of a step's server function: goes where the pressed button says. `stay` and words that nobody knows
/// stay: the form shows what was stored, and without script the browser comes back to the page it was on.
#[cfg(feature = "ssr")]
pub fn go_on(name: &str, step: Step, then: &str) {
    if let Some(path) = step.after(name, then) {
        leptos_axum::redirect(&path);
    }
}

/// The workload that the address names.
fn named() -> Memo<String> {
    let params = use_params_map();
    Memo::new(move |_| params.read().get("name").unwrap_or_default())
}

/// The revision of the draft that the form builds on: the one it was made from, then what each save stored.
fn seen(begin: i64, saved: impl Fn() -> Option<i64> + 'static) -> RwSignal<i64> {
    let seen = RwSignal::new(begin);
    Effect::new(move |_| {
        if let Some(revision) = saved() {
            seen.set(revision);
        }
    });
    seen
}
