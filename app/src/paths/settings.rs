//! Addresses of the settings.

use super::{SETTINGS, query};

/// The sections of the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SettingsTab {
    /// API tokens.
    #[default]
    Tokens,
    /// One's own sessions.
    Sessions,
    /// Channels and subscriptions.
    Notifications,
    /// Providers that users sign in with.
    IdentityProviders,
    /// What holds for all workloads of the project.
    Project,
    /// The colour scheme.
    Appearance,
    /// What the server runs on.
    About,
    /// Whether the server works.
    Health,
}

impl SettingsTab {
    /// All of them, in the order shown.
    pub const ALL: [Self; 8] = [
        Self::Tokens,
        Self::Sessions,
        Self::Notifications,
        Self::IdentityProviders,
        Self::Project,
        Self::Appearance,
        Self::About,
        Self::Health,
    ];

    /// Its name in addresses.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Sessions => "sessions",
            Self::Notifications => "notifications",
            Self::IdentityProviders => "identity-providers",
            Self::Project => "project",
            Self::Appearance => "appearance",
            Self::About => "about",
            Self::Health => "health",
        }
    }

    /// Its name on pages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tokens => "API tokens",
            Self::Sessions => "Sessions",
            Self::Notifications => "Notifications",
            Self::IdentityProviders => "Identity providers",
            Self::Project => "Project",
            Self::Appearance => "Appearance",
            Self::About => "About",
            Self::Health => "Server health",
        }
    }

    /// The section with this slug; the first without a slug, none for a name that is not that of a section.
    pub fn from_slug(slug: &str) -> Option<Self> {
        match slug {
            "" => Some(Self::default()),
            slug => Self::ALL.into_iter().find(|tab| tab.slug() == slug),
        }
    }
}

/// A section of the settings.
pub fn settings_tab(tab: SettingsTab) -> String {
    match tab {
        SettingsTab::Tokens => SETTINGS.to_owned(),
        tab => query(SETTINGS, &[("tab", tab.slug())]),
    }
}

/// The sessions, with the question whether to end this one; `others` for all others.
pub fn session_dialog(session: &str) -> String {
    query(&settings_tab(SettingsTab::Sessions), &[("revoke", session)])
}

/// The channels, with the question whether to delete this one.
pub fn channel_dialog(name: &str) -> String {
    query(&settings_tab(SettingsTab::Notifications), &[("delete", name)])
}

/// The channels, with the question whether to delete this subscription.
pub fn subscription_dialog(id: &str) -> String {
    query(&settings_tab(SettingsTab::Notifications), &[("unsubscribe", id)])
}

/// The identity providers, with the form of this one.
pub fn identity_provider_change(name: &str) -> String {
    query(&settings_tab(SettingsTab::IdentityProviders), &[("change", name)])
}

/// The identity providers, with the question whether to remove this one.
pub fn identity_provider_removal(name: &str) -> String {
    query(&settings_tab(SettingsTab::IdentityProviders), &[("remove", name)])
}

/// The settings, with the question whether to revoke this API token.
pub fn token_dialog(token: &str) -> String {
    query(SETTINGS, &[("revoke", token)])
}
