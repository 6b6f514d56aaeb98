//! The console: pages, components and server functions.
//!
//! A page file holds its component and its server functions, nothing else. A server function takes the `Hub` and the
//! actor from context, makes one call, and is done; it never sees SQL or Kubernetes. What can be said without asking
//! (guard rails, placement, "can I?") comes from `domain` and runs in the browser as on the server, so a preview can't
//! disagree with a publish. Every page is complete and usable before any script has arrived.
//!
//! The server mounts [`shell`] and provides what the `host` room lists; `frontend` hydrates [`App`].

#![recursion_limit = "512"]

mod app;
mod clusters;
mod components;
mod errors;
mod events;
mod fleet;
mod frame;
#[cfg(feature = "ssr")]
mod host;
mod late;
mod live;
mod not_found;
pub mod paths;
#[cfg(all(test, feature = "ssr"))]
mod rendered;
mod settings;
mod shell;
mod sign_in;
mod theme;
mod workloads;

pub use app::App;
pub use clusters::DemoAction;
pub use errors::AppError;
#[cfg(feature = "ssr")]
pub use host::{Agents, Demo, Door, Later};
#[cfg(feature = "hydrate")]
pub use late::arrive;
pub use shell::{Assets, shell};
