//! Sessions of users who are signed in to the console, as they are listed.

use serde::{Deserialize, Serialize};

use crate::kubernetes::time::Timestamp;

/// A session. Its id is derived from the secret in the cookie, and authenticates nobody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct UserSession {
    /// Its id.
    pub id: String,
    /// Browser and operating system of the sign-in, such as `Firefox on Linux`; empty if not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub browser: String,
    /// The network address of the sign-in; empty if not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
    /// When the user signed in.
    pub signed_in_at: Timestamp,
    /// When it was last used, to within ten minutes.
    pub last_used_at: Timestamp,
    /// When it expires if it is not used until then.
    pub expires_at: Timestamp,
    /// Whether it is the session of the request.
    #[serde(default)]
    pub current: bool,
}

/// The longest `User-Agent` that is stored, in characters.
pub const MAX_USER_AGENT_CHARS: usize = 400;

/// Names in a `User-Agent` and what they stand for; the first that occurs counts, because browsers name others too.
const BROWSERS: [(&str, &str); 9] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// `Firefox on Linux`; what is not recognized is the first word of the text, and empty if there is none.
pub fn describe_user_agent(text: &str) -> String {
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, _) => text.split_whitespace().next().unwrap_or_default().chars().take(60).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_named_with_its_system() {
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let edge = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 \
                    Safari/537.36 Edg/139.0.0.0";
        let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                     Version/18.5 Mobile/15E148 Safari/604.1";
        assert_eq!(describe_user_agent(firefox), "Firefox on Linux");
        assert_eq!(describe_user_agent(edge), "Edge on Windows");
        assert_eq!(describe_user_agent(phone), "Safari on iPhone");
        assert_eq!(describe_user_agent("curl/8.15.0"), "curl/8.15.0");
        assert_eq!(describe_user_agent(""), "");
    }
}
