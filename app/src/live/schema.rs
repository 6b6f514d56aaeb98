//! The schema of Kubernetes' own kinds: fetched when there is text to check, once while the page is open.
//!
//! It is not part of the WASM module, and no page waits for it: until it is loaded only the other guard rails are
//! evaluated. The server renders without it too, so that the markup is the same when the page is hydrated.

use std::sync::Arc;

use domain::schema::Schema;
use leptos::prelude::RwSignal;

/// The schema; `None` until it is loaded.
pub type SchemaSignal = RwSignal<Option<Arc<Schema>>>;

#[cfg(not(feature = "hydrate"))]
mod server {
    use super::SchemaSignal;

    /// A signal for the schema; it stays empty on the server.
    pub fn schema_signal() -> SchemaSignal {
        SchemaSignal::default()
    }
    /// Fetches the schema.
    pub fn fetch_schema(_kinds: SchemaSignal) {}
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

    use super::SchemaSignal;

    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    /// Whether a request is in flight.
    static REQUEST_PENDING: AtomicBool = AtomicBool::new(false);

    /// A signal with the schema, empty until it is loaded.
    pub fn schema_signal() -> SchemaSignal {
        RwSignal::new(SCHEMA.get().cloned())
    }

    /// Fetches the schema, unless it is loaded. Its address is an attribute of the document, contains a content hash, and is
    /// cached by browsers. If the request fails, the hub still checks against the schema before a publish.
    pub fn fetch_schema(kinds: SchemaSignal) {
        if let Some(schema) = SCHEMA.get() {
            if kinds.get_untracked().is_none() {
                kinds.set(Some(schema.clone()));
            }
            return;
        }
        if REQUEST_PENDING.load(Ordering::Relaxed) {
            return;
        }
        let root = web_sys::window().and_then(|window| window.document()?.document_element());
        let Some(address) = root.and_then(|root| root.get_attribute("data-schema")) else { return };
        let Ok(request) = XmlHttpRequest::new() else { return };
        let done = {
            let request = request.clone();
            Closure::once_into_js(move || {
                REQUEST_PENDING.store(false, Ordering::Relaxed);
                let text = request.response_text().ok().flatten().unwrap_or_default();
                if let Ok(schema) = Schema::from_json(text.as_bytes()) {
                    let _ = kinds.try_set(Some(SCHEMA.get_or_init(|| Arc::new(schema)).clone()));
                }
            })
        };
        request.set_onloadend(Some(done.unchecked_ref()));
        let sent = request.open("GET", &address).and_then(|()| request.send());
        REQUEST_PENDING.store(sent.is_ok(), Ordering::Relaxed);
    }
}
