//! Sessions and API tokens of the user that the address names, for administrators.

use domain::api_token::ApiToken;
use domain::session::UserSession;
use domain::{Timestamp, TokenId};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::error::action_error;
use crate::components::{Age, render_resource_part};
use crate::errors::AppResult;
use crate::paths;
use crate::resource::create_resource;

/// What a user can use Flotilla with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserCredentials {
    /// The name of the user.
    pub name: String,
    /// The sessions.
    pub sessions: Vec<UserSession>,
    /// The API tokens, without their secrets.
    pub tokens: Vec<ApiToken>,
    /// When this was read.
    pub at: Timestamp,
}

/// The users, with the sessions and API tokens of this one.
pub fn credentials_path(name: &str) -> String {
    paths::query(paths::PEOPLE, &[("access", name)])
}

/// The section's query.
#[server(prefix = "/api/fn", endpoint = "user_credentials_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn user_credentials_read(name: String) -> AppResult<UserCredentials> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let current = host::session_actions()?.session_id();
    let sessions = hub.list_user_sessions(&actor, &name, current.as_deref()).await;
    let sessions = host::into_app_result(sessions)?;
    let tokens = host::into_app_result(hub.list_user_tokens(&actor, &name).await)?;
    Ok(UserCredentials { name, sessions, tokens, at: hub.clock().now() })
}

/// Ends a session of a user.
#[server(prefix = "/api/fn", endpoint = "user_session_revoke")]
pub async fn user_session_revoke(name: String, id: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.revoke_user_session(&host::actor()?, &name, &id).await)?;
    leptos_axum::redirect(&credentials_path(&name));
    Ok(())
}

/// Ends all sessions of a user.
#[server(prefix = "/api/fn", endpoint = "user_sessions_revoke")]
pub async fn user_sessions_revoke(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.revoke_user_sessions(&host::actor()?, &name).await)?;
    leptos_axum::redirect(&credentials_path(&name));
    Ok(())
}

/// Revokes an API token of a user.
#[server(prefix = "/api/fn", endpoint = "user_token_revoke")]
pub async fn user_token_revoke(name: String, id: TokenId) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.delete_user_token(&host::actor()?, &name, id).await)?;
    leptos_axum::redirect(&credentials_path(&name));
    Ok(())
}

/// The actions of the section.
#[derive(Clone, Copy)]
struct CredentialActions {
    session: ServerAction<UserSessionRevoke>,
    sessions: ServerAction<UserSessionsRevoke>,
    token: ServerAction<UserTokenRevoke>,
}

/// The section; nothing if the address names no user.
#[component]
pub fn UserCredentialsSection() -> impl IntoView {
    let query = use_query_map();
    let name = Memo::new(move |_| query.read().get("access").unwrap_or_default());
    let actions = CredentialActions {
        session: ServerAction::new(),
        sessions: ServerAction::new(),
        token: ServerAction::new(),
    };
    let versions = move || {
        [actions.session.version().get(), actions.sessions.version().get(), actions.token.version().get()]
    };
    move || {
        let name = name.get();
        (!name.is_empty()).then(|| {
            let data =
                create_resource(move || (name.clone(), versions()), |(name, _)| user_credentials_read(name));
            view! {
                {action_error(actions.session.value())}
                {action_error(actions.sessions.value())}
                {action_error(actions.token.value())}
                {render_resource_part(data, move |list| show_credentials(list, actions))}
            }
        })
    }
}

fn show_credentials(list: UserCredentials, actions: CredentialActions) -> AnyView {
    let UserCredentials { name, sessions, tokens, at } = list;
    let title = format!("Access of {name}");
    let (of_sessions, of_tokens) = (name.clone(), name);
    view! {
        <section class="stack-sm" aria-labelledby="access">
            <h2 class="section" id="access">{title}</h2>
            {show_sessions(of_sessions, sessions, at, actions)}
            {show_tokens(of_tokens, tokens, at, actions)}
        </section>
    }
    .into_any()
}

fn show_sessions(
    name: String,
    sessions: Vec<UserSession>,
    at: Timestamp,
    actions: CredentialActions,
) -> AnyView {
    if sessions.is_empty() {
        return view! { <p class="text-2">"No sessions: the user is signed in nowhere."</p> }.into_any();
    }
    let owner = name.clone();
    let row = move |session: UserSession| {
        let UserSession { id, browser, address, signed_in_at, last_used_at, .. } = session;
        let browser = if browser.is_empty() { "Unknown browser".to_owned() } else { browser };
        let label = format!("End session {browser}");
        let owner = owner.clone();
        view! {
            <tr>
                <th scope="row" class="cell-name">{browser}</th>
                <td data-label="Address" class="mono">{address}</td>
                <td data-label="Signed in"><Age since=signed_in_at at=at suffix=" ago" /></td>
                <td data-label="Last used"><Age since=last_used_at at=at suffix=" ago" /></td>
                <td class="right cell-state">
                    <ActionForm action=actions.session>
                        <input type="hidden" name="name" value=owner />
                        <input type="hidden" name="id" value=id />
                        <button class="btn btn-sm btn-danger" type="submit" aria-label=label>"End session"</button>
                    </ActionForm>
                </td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Browser"</th>
                    <th scope="col">"Address"</th>
                    <th scope="col">"Signed in"</th>
                    <th scope="col">"Last used"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{sessions.into_iter().map(row).collect_view()}</tbody>
        </table>
        <ActionForm action=actions.sessions>
            <input type="hidden" name="name" value=name />
            <button class="btn btn-danger" type="submit">"End all sessions"</button>
        </ActionForm>
    }
    .into_any()
}

fn show_tokens(name: String, tokens: Vec<ApiToken>, at: Timestamp, actions: CredentialActions) -> AnyView {
    if tokens.is_empty() {
        return view! { <p class="text-2">"No API tokens."</p> }.into_any();
    }
    let row = move |token: ApiToken| {
        let ApiToken { id, name: token_name, role, last_used_at, expires_at, .. } = token;
        let label = format!("Revoke {token_name}");
        let owner = name.clone();
        let used = match last_used_at {
            Some(used) => view! { <Age since=used at=at suffix=" ago" /> }.into_any(),
            None => "never".into_any(),
        };
        let expires = match expires_at {
            None => "never".to_owned(),
            Some(end) if end <= at => "expired".to_owned(),
            Some(end) => format!("in {}", domain::time::format_duration(end.millis_since(at))),
        };
        view! {
            <tr>
                <th scope="row" class="cell-name">{token_name}</th>
                <td data-label="Role">{role.as_str()}</td>
                <td data-label="Last used">{used}</td>
                <td data-label="Expires">{expires}</td>
                <td class="right cell-state">
                    <ActionForm action=actions.token>
                        <input type="hidden" name="name" value=owner />
                        <input type="hidden" name="id" value=id.to_string() />
                        <button class="btn btn-sm btn-danger" type="submit" aria-label=label>"Revoke"</button>
                    </ActionForm>
                </td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"API token"</th>
                    <th scope="col">"Role"</th>
                    <th scope="col">"Last used"</th>
                    <th scope="col">"Expires"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{tokens.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}
