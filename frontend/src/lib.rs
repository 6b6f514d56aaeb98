//! Hydrates the console in the browser.
//!
//! There is no logic here, so that everything in the console can be rendered on the server too. Built only for WASM, by
//! `cargo xtask`; the script in the page's head calls [`hydrate`].

// A view is one deeply nested type, whose layout is computed in this crate.
#![recursion_limit = "512"]

use wasm_bindgen::prelude::wasm_bindgen;

/// Attaches the console to the server's markup; what was typed until then stays in the fields. A panic is logged to the browser's console with its source location.
#[wasm_bindgen]
pub async fn hydrate() {
    console_error_panic_hook::set_once();
    if let Err(error) = app::fetch_rendered_parts().await {
        leptos::logging::error!("the page was not hydrated and works without script only: {error}");
        return;
    }
    let typed = app::collect_typed_inputs();
    leptos::mount::hydrate_body(app::App);
    typed.restore();
}
