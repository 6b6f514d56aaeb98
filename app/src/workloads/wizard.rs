//! The wizard: a draft is edited in steps. Each step is a plain form that works without JavaScript.
//!
//! # Structure of a step
//!
//! The page of a step is `step.rs` in the folder of its noun, such as `placement/step.rs`. It loads the
//! [`Workload`](domain::workload::Workload) and renders one form with the id [`FORM`]:
//!
//! ```text
//! <ActionForm action=action attr:id=wizard::FORM>
//!     <input type="hidden" name="name" value=name />
//!     <input type="hidden" name="base_revision" value=revision />
//!     …fields…
//!     <WizardFooter step=WizardStep::Placement findings=findings busy=action.pending() />
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

mod draft_status;
mod footer;
mod frame;
mod rail;
mod step;
mod step_findings;
mod step_form;

pub use draft_status::is_new_draft;
pub use footer::{RenderFooter, WizardFooter};
pub use frame::WizardFrame;
pub use step::WizardStep;
pub use step_findings::{with_stored_findings, with_stored_findings_of_new};
#[cfg(feature = "ssr")]
pub use step_form::redirect_after;
pub use step_form::{FORM, workload_name};
