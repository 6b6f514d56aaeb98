//! The schema of Kubernetes' own kinds: fetched when there is text to judge, once for as long as the page is open.
//!
//! It is no part of the module, and no page waits for it: until it is there the other guard rails speak alone. The
//! server renders without it too, so that the page is the same on both sides when it is taken over.

use std::sync::Arc;

use domain::schema::Schema;
use leptos::prelude::RwSignal;

/// The schema; nothing until it is there.
pub type Kinds = RwSignal<Option<Arc<Schema>>>;

#[cfg(not(feature = "hydrate"))]
mod server {
    use super::Kinds;

    /// Where the schema will be.
    pub fn kinds() -> Kinds {
        Kinds::default()
    }
    /// Fetches it.
    pub fn summon(_kinds: Kinds) {}
}

#[cfg(not(feature = "hydrate"))]
pub use server::*;

#[cfg(feature = "hydrate")]
pub use browser::*;

#[cfg(feature = "hydrate")]
mod browser {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, OnceLock};

    use domain::schema::Schema;
    use leptos::prelude::{GetUntracked, RwSignal, Set as _};
    use wasm_bindgen::JsCast;
    use wasm_bindgen::closure::Closure;
    use web_sys::XmlHttpRequest;

    use super::Kinds;

    static KEPT: OnceLock<Arc<Schema>> = OnceLock::new();
    /// Whether an answer is awaited.
    static ASKED: AtomicBool = AtomicBool::new(false);

    /// Where the schema is, or will be.
    pub fn kinds() -> Kinds {
        RwSignal::new(KEPT.get().cloned())
    }

    /// Fetches it, if it is not there. The document says from where; browsers keep it, its address changes with it. If it
    /// can't be had, the hub still judges by it before anything is published.
    pub fn summon(kinds: Kinds) {
        if let Some(kept) = KEPT.get() {
            if kinds.get_untracked().is_none() {
                kinds.set(Some(kept.clone()));
            }
            return;
        }
        if ASKED.load(Ordering::Relaxed) {
            return;
        }
        let root = web_sys::window().and_then(|window| window.document()?.document_element());
        let Some(address) = root.and_then(|root| root.get_attribute("data-schema")) else { return };
        let Ok(request) = XmlHttpRequest::new() else { return };
        let done = {
            let request = request.clone();
            Closure::once_into_js(move || {
                ASKED.store(false, Ordering::Relaxed);
                let text = request.response_text().ok().flatten().unwrap_or_default();
                if let Ok(schema) = Schema::read(text.as_bytes()) {
                    let _ = kinds.try_set(Some(KEPT.get_or_init(|| Arc::new(schema)).clone()));
                }
            })
        };
        request.set_onloadend(Some(done.unchecked_ref()));
        let sent = request.open("GET", &address).and_then(|()| request.send());
        ASKED.store(sent.is_ok(), Ordering::Relaxed);
    }
}
