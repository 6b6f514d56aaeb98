//! The HTML document around the console. Never runs in the browser.

use domain::role::Role;
use leptos::nonce::use_nonce;
use leptos::prelude::*;
use leptos_meta::MetaTags;

use crate::app::App;
use crate::assets::Assets;
use crate::permission;
use crate::{shortcuts, theme};

/// The whole document. The theme is an attribute of `<html>`, read from the cookie, so it needs no script; the one inline
/// script starts the module and carries the nonce.
pub fn shell(assets: Assets) -> impl IntoView {
    let theme = theme::request_theme();
    let role = permission::document_role().map(Role::as_str);
    let user = permission::document_user();
    let font = |name: &str| {
        let href = assets.address(name);
        view! { <link rel="preload" r#as="font" r#type="font/woff2" crossorigin="anonymous" href=href /> }
    };
    let (js, wasm) = (assets.address("frontend.js"), assets.address("frontend_bg.wasm"));
    let start = format!(
        "import({}).then(m=>m.default({{module_or_path:{}}}).then(()=>m.hydrate()))",
        js_string(&js),
        js_string(&wasm)
    );
    set_content_security_policy();
    view! {
        <!DOCTYPE html>
        <html lang="en" data-theme=theme.attribute() data-role=role data-user=user data-no-shortcuts=shortcuts::are_switched_off().then_some("") data-editor=assets.address("editor.js") data-schema=assets.address("kubernetes.json")>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <meta name="description" content="Flotilla publishes workloads to many clusters and keeps them there." />
                {read_position().map(|(millis, position)| view! {
                    <meta name="server-time" content=millis.to_string() />
                    <meta name="log-position" content=position.to_string() />
                })}
                <link rel="stylesheet" href=assets.address("main.css") />
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                {font("inter.woff2")}
                {font("jetbrains-mono.woff2")}
                <link rel="modulepreload" href=js />
                <link rel="modulepreload" href=assets.address("split.js") />
                <link rel="preload" r#as="fetch" r#type="application/wasm" crossorigin="anonymous" href=wasm />
                <MetaTags />
                <script type="module" nonce=use_nonce()>
                    {start}
                </script>
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// When rendering started: by the server's clock, from which the page computes ages, and by the event log, so that the
/// stream continues there and misses nothing that happens while the module is loading.
#[cfg(feature = "ssr")]
fn read_position() -> Option<(i64, i64)> {
    let hub = use_context::<hub::Hub>()?;
    let position = *hub.subscribe_events().borrow();
    Some((hub.clock().now().millis(), position))
}

#[cfg(not(feature = "ssr"))]
fn read_position() -> Option<(i64, i64)> {
    None
}

/// A JavaScript string literal that can't end the script it stands in.
fn js_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default().replace('<', "\\u003c")
}

/// Sets the content security policy: only files of this server, the one inline script with its nonce, and WASM. Style
/// attributes are allowed, because the strip's proportions need them.
#[cfg(feature = "ssr")]
fn set_content_security_policy() {
    use http::header::{CONTENT_SECURITY_POLICY, HeaderValue};
    let (Some(nonce), Some(response)) = (use_nonce(), use_context::<leptos_axum::ResponseOptions>()) else {
        return;
    };
    let policy = format!(
        "default-src 'self'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         style-src-attr 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.insert_header(CONTENT_SECURITY_POLICY, policy);
    }
}

#[cfg(not(feature = "ssr"))]
fn set_content_security_policy() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_literal_cannot_end_its_script() {
        assert_eq!(js_string("</script>"), "\"\\u003c/script>\"");
    }
}
