//! Whether shortcuts of one character are on (WCAG 2.1.4). Stored in a cookie, as the theme is, so that the server renders the page
//! with it.

use leptos::prelude::*;

use crate::errors::AppResult;
use crate::live;

/// The name of the cookie.
#[cfg(feature = "ssr")]
const COOKIE: &str = "shortcuts";

/// Whether this request's cookie switches them off.
#[cfg(feature = "ssr")]
pub fn are_switched_off() -> bool {
    let parts = use_context::<http::request::Parts>();
    let cookies = parts.as_ref().and_then(|parts| parts.headers.get(http::header::COOKIE)?.to_str().ok());
    let is_off = |cookie: &str| cookie.trim().split_once('=') == Some((COOKIE, "off"));
    cookies.into_iter().flat_map(|all| all.split(';')).any(is_off)
}

/// In the browser, the attribute of the document says so.
#[cfg(not(feature = "ssr"))]
pub fn are_switched_off() -> bool {
    live::page::are_shortcuts_off()
}

/// Switches them on or off, for a year.
#[server(prefix = "/api/fn", endpoint = "set_shortcuts")]
pub async fn set_shortcuts(on: bool) -> AppResult<bool> {
    use http::header::{HeaderValue, SET_COOKIE};
    let (value, age) = if on { ("on", 0) } else { ("off", 31_536_000) };
    let cookie = format!("{COOKIE}={value}; Path=/; Max-Age={age}; SameSite=Lax");
    if let (Some(response), Ok(cookie)) =
        (use_context::<leptos_axum::ResponseOptions>(), HeaderValue::from_str(&cookie))
    {
        response.append_header(SET_COOKIE, cookie);
    }
    Ok(on)
}

/// The button that switches shortcuts of one character off, or on again.
#[component]
pub fn ShortcutSwitch(
    /// The classes of the button.
    class: &'static str,
) -> impl IntoView {
    let action = ServerAction::<SetShortcuts>::new();
    let is_off = RwSignal::new(are_switched_off());
    Effect::new(move |_| {
        if let Some(Ok(on)) = action.value().get() {
            live::page::set_shortcuts_off(!on);
            is_off.set(!on);
        }
    });
    view! {
        <ActionForm action=action>
            <input type="hidden" name="on" value=move || is_off.get().to_string() />
            <button class=class type="submit">
                {move || if is_off.get() { "Turn one-key shortcuts on" } else { "Turn one-key shortcuts off" }}
            </button>
        </ActionForm>
    }
    .into_any()
}
