//! Light, dark, or the system's theme. Stored in a cookie, so that the server renders the first page with it.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::{icon, render_resource};
use crate::errors::AppResult;
use crate::live;
use crate::resource::create_resource;

/// The selected theme.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Theme {
    /// The system's theme.
    #[default]
    Auto,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// Its name in cookie and form.
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

    const fn icon_and_label(self) -> (&'static str, &'static str) {
        match self {
            Self::Auto => ("theme", "System"),
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
pub fn request_theme() -> Theme {
    let parts = use_context::<http::request::Parts>();
    let cookies = parts.as_ref().and_then(|parts| parts.headers.get(http::header::COOKIE)?.to_str().ok());
    let chosen =
        cookies.into_iter().flat_map(|all| all.split(';')).find_map(|one| one.trim().strip_prefix("theme="));
    Theme::from_slug(chosen.unwrap_or_default())
}

/// Not used in the browser: the document is only rendered on the server.
#[cfg(not(feature = "ssr"))]
pub fn request_theme() -> Theme {
    Theme::from_slug("")
}

/// Stores the theme in a cookie for a year.
#[server(prefix = "/api/fn", endpoint = "set_theme")]
pub async fn set_theme(theme: Theme) -> AppResult<Theme> {
    use http::header::{HeaderValue, SET_COOKIE};
    let cookie = format!("theme={}; Path=/; Max-Age=31536000; SameSite=Lax", theme.slug());
    if let (Some(response), Ok(cookie)) =
        (use_context::<leptos_axum::ResponseOptions>(), HeaderValue::from_str(&cookie))
    {
        response.append_header(SET_COOKIE, cookie);
    }
    Ok(theme)
}

/// The theme that this browser has chosen.
#[server(prefix = "/api/fn", endpoint = "theme_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn theme_read() -> AppResult<Theme> {
    Ok(request_theme())
}

/// The same choice on the page of the settings, with the current one marked.
#[component]
pub fn ThemeChoice() -> impl IntoView {
    let action = ServerAction::<SetTheme>::new();
    Effect::new(move |_| {
        if let Some(Ok(theme)) = action.value().get() {
            live::page::show_theme(theme.attribute());
        }
    });
    let chosen = create_resource(move || action.version().get(), |_| theme_read());
    let choice = |theme: Theme, chosen: Theme| {
        let (name, word) = theme.icon_and_label();
        view! {
            <button type="submit" name="theme" value=theme.slug() aria-pressed=(theme == chosen).to_string()>
                {icon(name)}
                {word}
            </button>
        }
    };
    view! {
        <ActionForm action=action>
            {render_resource(chosen, move |chosen| {
                let choices = Theme::ALL.map(|theme| choice(theme, chosen)).collect_view();
                view! { <div class="segmented" role="group" aria-labelledby="theme">{choices}</div> }.into_any()
            })}
        </ActionForm>
    }
    .into_any()
}

/// The switch in the top bar: a native popover with three submit buttons; needs no script.
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
        let (name, word) = theme.icon_and_label();
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
