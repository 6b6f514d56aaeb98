//! Settings: API tokens, one's own sessions, channels and subscriptions, identity providers, the project, the colour scheme, what the server runs on and whether it works. One section is
//! shown, which the address names.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::address::defer_change;
use crate::components::{PageTabs, UnknownTab};
use crate::paths::{self, SettingsTab};
use crate::shortcuts::ShortcutSwitch;
use crate::theme::ThemeChoice;

mod channel_create;
mod channel_template;
mod identity_provider_form;
mod identity_providers;
mod notification_list;
mod notifications;
mod password;
mod project;
mod server;
mod sessions;
mod subscriptions;
mod token_authorization;
mod tokens;

use identity_providers::{IdentityProviderActions, IdentityProviderDialog, IdentityProvidersSection};
use notifications::{NotificationActions, NotificationDialogs, NotificationsSection};
use password::PasswordSection;
use project::{ProjectSave, ProjectSection};
use server::{AboutSection, HealthSection};
use sessions::{SessionDialog, SessionsSection};
use token_authorization::{TokenAuthorizationDialog, TokenAuthorize};
use tokens::{TokenDialog, TokensSection};

/// The names of the last tabs, which are pages of their own.
pub const PEOPLE_TAB: &str = "People";
/// See [`PEOPLE_TAB`].
pub const AUDIT_TAB: &str = "Audit log";

/// The page.
#[component]
pub fn SettingsPage() -> impl IntoView {
    let query = use_query_map();
    let tab = Memo::new(move |_| SettingsTab::from_slug(&query.read().get("tab").unwrap_or_default()));
    let shown_tab = defer_change(tab);
    let delete_token = ServerAction::<tokens::TokenDelete>::new();
    let authorize = ServerAction::<TokenAuthorize>::new();
    let authorized = Signal::derive(move || authorize.version().get());
    let revoke = ServerAction::<sessions::SessionRevoke>::new();
    let revoke_others = ServerAction::<sessions::SessionRevokeOthers>::new();
    let notifications = NotificationActions::new();
    let providers = IdentityProviderActions::new();
    let save_project = ServerAction::<ProjectSave>::new();
    view! {
        {move || view! { <Title text=tab.get().map_or("Settings", SettingsTab::label) /> }}
        <div class="stack max-w-240">
            // First: without script, the open dialog is where it is in the page.
            {move || match shown_tab.get() {
                Some(SettingsTab::Tokens) => {
                    view! {
                        <TokenDialog action=delete_token />
                        <TokenAuthorizationDialog action=authorize />
                    }
                    .into_any()
                }
                Some(SettingsTab::Sessions) => {
                    view! { <SessionDialog revoke=revoke revoke_others=revoke_others /> }.into_any()
                }
                Some(SettingsTab::Notifications) => view! { <NotificationDialogs actions=notifications /> }.into_any(),
                Some(SettingsTab::IdentityProviders) => view! { <IdentityProviderDialog actions=providers /> }.into_any(),
                _ => ().into_any(),
            }}
            <h1 class="title">"Settings"</h1>
            <SettingsTabs current=Signal::derive(move || tab.get().map_or("", SettingsTab::label)) />
            {move || match shown_tab.get() {
                Some(SettingsTab::Tokens) => view! { <TokensSection delete=delete_token created_elsewhere=authorized /> }.into_any(),
                Some(SettingsTab::Sessions) => {
                    view! {
                        <SessionsSection revoke=revoke revoke_others=revoke_others />
                        <PasswordSection />
                    }
                    .into_any()
                }
                Some(SettingsTab::Notifications) => view! { <NotificationsSection actions=notifications /> }.into_any(),
                Some(SettingsTab::IdentityProviders) => view! { <IdentityProvidersSection actions=providers /> }.into_any(),
                Some(SettingsTab::Project) => view! { <ProjectSection save=save_project /> }.into_any(),
                Some(SettingsTab::Appearance) => show_appearance().into_any(),
                Some(SettingsTab::About) => view! { <AboutSection /> }.into_any(),
                Some(SettingsTab::Health) => view! { <HealthSection /> }.into_any(),
                None => view! { <UnknownTab first=paths::SETTINGS.to_owned() /> }.into_any(),
            }}
        </div>
    }
    .into_any()
}

/// The tabs of the settings, with the people and the audit log as the last.
#[component]
pub fn SettingsTabs(
    /// The name of the current tab.
    #[prop(into)]
    current: Signal<&'static str>,
) -> impl IntoView {
    let tabs = SettingsTab::ALL.map(|one| (one.label(), paths::settings_tab(one)));
    let pages = [(PEOPLE_TAB, paths::PEOPLE.to_owned()), (AUDIT_TAB, paths::AUDIT.to_owned())];
    let link = move |(name, path)| {
        view! {
            <a href=path aria-current=move || (current.get() == name).then_some("page")>
                {name}
            </a>
        }
    };
    view! {
        <PageTabs label="Settings" current=current>
            {tabs.into_iter().chain(pages).map(link).collect_view()}
        </PageTabs>
    }
    .into_any()
}

fn show_appearance() -> impl IntoView {
    view! {
        <section class="stack-sm" aria-labelledby="theme">
            <h2 class="section" id="theme">"Theme"</h2>
            <p class="text-2">
                "Stored in this browser. System follows the setting of your operating system."
            </p>
            <ThemeChoice />
        </section>
        <section class="stack-sm" aria-labelledby="keyboard">
            <h2 class="section" id="keyboard">"Keyboard"</h2>
            <p class="text-2">
                "One-key shortcuts, such as j and k for the next and the previous row, can be turned off. Ctrl K and the arrow keys remain."
            </p>
            <div>
                <ShortcutSwitch class="btn" />
            </div>
        </section>
    }
}
