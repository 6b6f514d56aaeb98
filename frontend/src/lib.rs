//! The browser's half of the console: takes over the page that the server rendered, and nothing else.
//!
//! There is no logic here, so that everything the console does can be rendered on the server too. Built alone and only
//! for WASM by `cargo xtask`; the script in the page's head calls [`hydrate`].

// Views are one nested type; the compiler follows it to its depth here, where it is laid out.
#![recursion_limit = "512"]

use wasm_bindgen::prelude::wasm_bindgen;

/// Attaches the console to the server's markup. A panic is written to the browser's console with its place.
#[wasm_bindgen]
pub async fn hydrate() {
    console_error_panic_hook::set_once();
    if let Err(why) = app::arrive().await {
        leptos::logging::error!("the page stays without script: {why}");
        return;
    }
    leptos::mount::hydrate_body(app::App);
}
