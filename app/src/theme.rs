//! Light, dark, or as the system says. Kept in a cookie, so that the server paints it right the first time.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::icon;
use crate::errors::Answer;
use crate::live;

/// The theme a person chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Theme {
    /// As the system says.
    #[default]
    Auto,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// The word in cookie and form.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The value of `data-theme`; `None` leaves it to the system.
    pub const fn attribute(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            theme => Some(theme.slug()),
        }
    }

    const fn face(self) -> (&'static str, &'static str) {
        match self {
            Self::Auto => ("theme", "As the system"),
            Self::Light => ("sun", "Light"),
            Self::Dark => ("moon", "Dark"),
        }
    }

    fn from_slug(slug: &str) -> Self {
        Self::ALL.into_iter().find(|theme| theme.slug() == slug).unwrap_or_default()
    }
}

/// The theme in this request's cookie.
#[cfg(feature = "ssr")]
pub fn of_request() -> Theme {
    let parts = use_context::<http::request::Parts>();
    let cookies = parts.as_ref().and_then(|parts| parts.headers.get(http::header::COOKIE)?.to_str().ok());
    let chosen =
        cookies.into_iter().flat_map(|all| all.split(';')).find_map(|one| one.trim().strip_prefix("theme="));
    Theme::from_slug(chosen.unwrap_or_default())
}

/// The document is only made on the server; elsewhere the question does not come up.
#[cfg(not(feature = "ssr"))]
pub fn of_request() -> Theme {
    Theme::from_slug("")
}

/// Keeps the theme for a year.
#[server(prefix = "/api/fn", endpoint = "set_theme")]
pub async fn set_theme(theme: Theme) -> Answer<Theme> {
    use http::header::{HeaderValue, SET_COOKIE};
    let cookie = format!("theme={}; Path=/; Max-Age=31536000; SameSite=Lax", theme.slug());
    if let (Some(response), Ok(cookie)) =
        (use_context::<leptos_axum::ResponseOptions>(), HeaderValue::from_str(&cookie))
    {
        response.append_header(SET_COOKIE, cookie);
    }
    Ok(theme)
}

/// The switch in the top bar: a native popover with three submit buttons, so it needs no script.
#[component]
pub fn ThemeSwitch() -> impl IntoView {
    let action = ServerAction::<SetTheme>::new();
    Effect::new(move |_| {
        if let Some(Ok(theme)) = action.value().get() {
            live::page::show_theme(theme.attribute());
            live::page::close_menu("theme-menu");
        }
    });
    let choice = |theme: Theme| {
        let (name, word) = theme.face();
        view! {
            <button class="menu-item" name="theme" value=theme.slug()>
                {icon(name)}
                {word}
            </button>
        }
    };
    view! {
        <button class="btn btn-sm btn-icon btn-quiet" type="button" aria-label="Theme" popovertarget="theme-menu">
            {icon("theme")}
        </button>
        <div class="popover" id="theme-menu" popover="auto">
            <ActionForm action=action>{Theme::ALL.map(choice).collect_view()}</ActionForm>
        </div>
    }
    .into_any()
}
