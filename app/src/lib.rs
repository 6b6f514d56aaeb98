//! The console: pages, components and server functions.
//!
//! A page file holds its component and its server functions, nothing else. A server function reads the `Hub` and the
//! actor from context and makes one call; it never sees SQL or Kubernetes. What needs no query (guard rails, placement,
//! "can I?") is computed by `domain`, in the browser as on the server, so a preview can't disagree with a publish. Every
//! page is complete and usable before any script is loaded.
//!
//! The server mounts [`shell`] and provides what the `host` module lists; `frontend` hydrates [`App`].

#![recursion_limit = "512"]

mod address;
mod app;
mod assets;
mod audit;
mod charts;
mod clusters;
mod components;
mod demo_action;
mod drift;
mod errors;
mod events;
mod fleet;
mod frame;
#[cfg(feature = "ssr")]
mod host;
mod incidents;
mod label_text;
mod lazy;
mod live;
mod not_found;
mod palette_host;
mod parsing;
pub mod paths;
mod people;
mod permission;
#[cfg(all(test, feature = "ssr"))]
mod render_tests;
mod resource;
mod search;
mod server_fn_error;
mod set_password;
mod settings;
mod shell;
mod shortcuts;
mod sign_in;
mod suspension;
mod theme;
mod workloads;

pub use app::App;
pub use assets::Assets;
pub use demo_action::DemoAction;
pub use errors::{AppError, STILL_WORKS};
#[cfg(feature = "ssr")]
pub use host::{
    AgentListenerInfo, BoxFuture, ConsoleOrigin, DemoControls, JOIN_COOKIE, SessionActions, sanitize_next,
};
#[cfg(feature = "hydrate")]
pub use lazy::fetch_rendered_parts;
#[cfg(feature = "hydrate")]
pub use live::form::{TypedInputs, collect_typed_inputs};
pub use shell::shell;
