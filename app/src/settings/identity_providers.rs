//! Identity providers that users sign in with: the list, the test of the connection, the forms, and the removal.

use domain::authorization::UserAction;
use domain::identity_provider::{IdentityProvider, ProviderCheck, ProviderCheckOutcome, ProviderTest};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::identity_provider_form::{IdentityProviderSave, provider_form};
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{Banner, ConfirmDialog, CopyLine, Empty, StatusStyle, icon, render_resource};
use crate::errors::AppResult;
use crate::paths::{self, SettingsTab};
use crate::permission::Permission;
use crate::resource::{count_successes, create_resource};

/// The result of a test, and of which provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestedProvider {
    /// The name of the provider.
    pub name: String,
    /// What was found out.
    pub test: ProviderTest,
}

/// The query of the section.
#[server(prefix = "/api/fn", endpoint = "identity_providers_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn identity_providers_read() -> AppResult<Vec<IdentityProvider>> {
    use crate::host;
    host::into_app_result(host::hub()?.list_identity_providers(&host::actor()?).await)
}

/// Tests the connection to a provider now. What does not work is part of the result.
#[server(prefix = "/api/fn", endpoint = "identity_provider_test")]
pub async fn identity_provider_test(name: String) -> AppResult<TestedProvider> {
    use crate::host;
    let test = host::hub()?.test_identity_provider(&host::actor()?, &name).await;
    Ok(TestedProvider { test: host::into_app_result(test)?, name })
}

/// Removes a provider, and ends its sessions.
#[server(prefix = "/api/fn", endpoint = "identity_provider_remove")]
pub async fn identity_provider_remove(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.remove_identity_provider(&host::actor()?, &name).await)?;
    leptos_axum::redirect(&paths::settings_tab(SettingsTab::IdentityProviders));
    Ok(())
}

/// The actions of the section.
#[derive(Clone, Copy)]
pub struct IdentityProviderActions {
    create: ServerAction<IdentityProviderSave>,
    change: ServerAction<IdentityProviderSave>,
    test: ServerAction<IdentityProviderTest>,
    remove: ServerAction<IdentityProviderRemove>,
}

impl IdentityProviderActions {
    /// Actions that have not run.
    pub fn new() -> Self {
        Self {
            create: ServerAction::new(),
            change: ServerAction::new(),
            test: ServerAction::new(),
            remove: ServerAction::new(),
        }
    }
}

/// The section.
#[component]
pub fn IdentityProvidersSection(actions: IdentityProviderActions) -> impl IntoView {
    let IdentityProviderActions { create, change, test, remove } = actions;
    let counts =
        [count_successes(create.value()), count_successes(change.value()), count_successes(remove.value())];
    let data = create_resource(move || counts.map(|count| count.get()), |_| identity_providers_read());
    let query = use_query_map();
    let changed = Memo::new(move |_| query.read().get("change").unwrap_or_default());
    view! {
        <div class="stack">
            <p class="text-2">
                "Users can sign in with providers of OpenID Connect, and have the roles of their groups there. Why a user has the role is under People."
            </p>
            {action_error(test.value())}
            {move || test.value().get().and_then(Result::ok).map(show_test)}
            {move || create.value().get().and_then(Result::ok).map(show_created)}
            {render_resource(data, move |providers| show_providers(providers, changed, actions))}
            <details class="fold">
                <summary>"Add identity provider"</summary>
                {provider_form(None, "provider", create)}
            </details>
            <noscript>
                <p class="meta">"Without script the result of a test can't be shown; use "<code class="mono">"flotilla identity-provider test"</code>"."</p>
            </noscript>
        </div>
    }
    .into_any()
}

/// What was found out about a provider.
fn show_test(tested: TestedProvider) -> impl IntoView {
    let TestedProvider { name, test: ProviderTest { succeeded, checks } } = tested;
    let has_failed = checks.iter().any(|check| check.outcome == ProviderCheckOutcome::Failed);
    let summary = match (succeeded, has_failed) {
        (true, _) => "Every check passed.",
        (false, true) => "A sign-in would fail.",
        (false, false) => "Not every check has a result. A sign-in shows whether it works.",
    };
    view! {
        <section class="stack-sm" aria-labelledby="provider-test">
            <h2 class="section" id="provider-test">{format!("Test of {name}")}</h2>
            <p role="status">{summary}</p>
            <dl class="pairs">{checks.into_iter().map(show_check).collect_view()}</dl>
        </section>
    }
}

fn show_check(check: ProviderCheck) -> impl IntoView {
    let (style, mark, outcome) = match check.outcome {
        ProviderCheckOutcome::Passed => ("state state-quiet hue-healthy", "check", "Passed"),
        ProviderCheckOutcome::Failed => ("state state-broken hue-degraded", "error", "Failed"),
        ProviderCheckOutcome::Unknown => ("state state-quiet hue-unknown", "note", "Not known"),
    };
    view! {
        <dt>{check.check.label()}</dt>
        <dd><span class=style>{icon(mark)} {outcome}</span> " " {check.message}</dd>
    }
}

/// The addresses of a provider that was added, which are registered there.
fn show_created(provider: IdentityProvider) -> impl IntoView {
    view! {
        <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
            <div class="stack-sm">
                <p><b>{format!("{} was saved.", provider.name)}</b> " Register its addresses at the provider, then test it."</p>
                {show_addresses(provider.redirect_uri, provider.logout_uri)}
            </div>
        </Banner>
    }
}

fn show_addresses(redirect_uri: String, logout_uri: String) -> impl IntoView {
    view! {
        <p>"Redirect URI:"</p>
        <CopyLine line=redirect_uri />
        <p>"Back-channel logout URI:"</p>
        <CopyLine line=logout_uri />
    }
}

fn show_providers(
    providers: Vec<IdentityProvider>,
    changed: Memo<String>,
    actions: IdentityProviderActions,
) -> AnyView {
    if providers.is_empty() {
        return view! {
            <Empty title="No identity providers" text="Users sign in with their password here. With a provider of OpenID Connect they sign in there, and their groups have roles."
                command="flotilla identity-provider set corp --issuer https://id.example.com --client-id flotilla --client-secret-file secret.txt --group-role ops=publisher">
                // A link to a field opens the fold around it.
                <a class="btn" href="#provider-name" rel="external">
                    "Add identity provider"
                </a>
            </Empty>
        }
        .into_any();
    }
    let rows = providers.iter().cloned().map(|provider| provider_row(provider, actions.test)).collect_view();
    let change = move || {
        let provider = providers.iter().find(|provider| changed.with(|name| *name == provider.name));
        provider.map(|provider| show_change(provider, actions.change))
    };
    view! {
        {change}
        <section class="stack-sm" aria-labelledby="providers">
            <h2 class="section" id="providers">"Identity providers"</h2>
            <table class="table">
                <thead>
                    <tr>
                        <th scope="col">"Provider"</th>
                        <th scope="col">"Issuer"</th>
                        <th scope="col">"Roles of groups"</th>
                        <th scope="col">"Sign-in"</th>
                        <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
    .into_any()
}

fn provider_row(provider: IdentityProvider, test: ServerAction<IdentityProviderTest>) -> impl IntoView {
    let IdentityProvider { name, issuer, roles, enabled, .. } = provider;
    let roles: Vec<String> =
        roles.iter().map(|binding| format!("{} is {}", binding.group, binding.role)).collect();
    let roles = if roles.is_empty() { "None: nobody can sign in".to_owned() } else { roles.join(", ") };
    // The visible text is part of the names that screen readers announce.
    let [test_label, change_label, remove_label] =
        ["Test", "Change", "Remove…"].map(|verb| format!("{verb} {name}"));
    let (change, removal) = (paths::identity_provider_change(&name), paths::identity_provider_removal(&name));
    view! {
        <tr>
            <th scope="row" class="cell-name name">{name.clone()}</th>
            <td data-label="Issuer" class="mono break-all">{issuer}</td>
            <td data-label="Roles of groups">{roles}</td>
            <td data-label="Sign-in">{if enabled { "Enabled" } else { "Disabled" }}</td>
            <td class="right cell-state">
                <span class="inline-flex flex-wrap justify-end gap-2">
                    <ActionForm action=test>
                        <Permission action=UserAction::ManageUsers quiet=true>
                            <input type="hidden" name="name" value=name />
                            <button class="btn btn-sm" type="submit" aria-label=test_label>"Test"</button>
                        </Permission>
                    </ActionForm>
                    <a class="btn btn-sm" href=change aria-label=change_label>"Change"</a>
                    <a class="btn btn-sm btn-danger" href=removal aria-label=remove_label>"Remove…"</a>
                </span>
            </td>
        </tr>
    }
}

/// The form of the provider that the address names, with what is registered there.
fn show_change(provider: &IdentityProvider, change: ServerAction<IdentityProviderSave>) -> AnyView {
    let title = format!("Change {}", provider.name);
    let issuer = format!("Issuer: {}", provider.issuer);
    let addresses = show_addresses(provider.redirect_uri.clone(), provider.logout_uri.clone());
    let form = provider_form(Some(provider), "changed-provider", change);
    view! {
        <section class="stack-sm" aria-labelledby="change">
            <h2 class="section" id="change">{title}</h2>
            <p class="break-all">{issuer}</p>
            {addresses}
            {form}
        </section>
    }
    .into_any()
}

/// The question before the provider that the address names is removed.
#[component]
pub fn IdentityProviderDialog(actions: IdentityProviderActions) -> impl IntoView {
    let query = use_query_map();
    let name = Memo::new(move |_| query.read().get("remove").unwrap_or_default());
    move || {
        let name = name.get();
        (!name.is_empty()).then(|| show_question(name, actions.remove))
    }
}

fn show_question(name: String, remove: ServerAction<IdentityProviderRemove>) -> AnyView {
    let back = paths::settings_tab(SettingsTab::IdentityProviders);
    view! {
        <ConfirmDialog title=format!("Remove the identity provider {name}?") back=back.clone()>
            <ActionForm action=remove>
                <Permission action=UserAction::ManageUsers>
                    <input type="hidden" name="name" value=name />
                    <div class="dialog-body">
                        {action_error(remove.value())}
                        <p>"Its users are signed out at once, their API tokens are refused, and nobody can sign in with it. The users stay, and can sign in again with a provider of the same issuer."</p>
                    </div>
                    {dialog_buttons(back, "Remove identity provider", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
