//! API tokens, for the command line, CI and agents. A secret is displayed once.

use domain::authorization::UserAction;
use domain::role::Role;
use domain::{Timestamp, TokenId};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{
    Age, Banner, ConfirmDialog, CopyLine, Empty, StatusStyle, clear_after_success, render_resource,
    render_resource_part,
};
use crate::errors::AppResult;
use crate::paths;
use crate::permission;
use crate::resource::create_resource;

/// A token as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSummary {
    /// Its id.
    pub id: TokenId,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The only actions that it may do in addition to reading; absent for all of its role.
    #[serde(default)]
    pub actions: Option<Vec<String>>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
}

/// The user's tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenList {
    /// The tokens.
    pub tokens: Vec<TokenSummary>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "tokens_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn tokens_read() -> AppResult<TokenList> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let tokens = host::into_app_result(hub.list_tokens(&actor).await)?;
    let tokens = tokens.into_iter().map(|t| TokenSummary {
        id: t.id,
        name: t.name,
        role: t.role,
        actions: t.actions,
        last_used_at: t.last_used_at,
        expires_at: t.expires_at,
    });
    Ok(TokenList { tokens: tokens.collect(), at: hub.clock().now() })
}

/// Creates a token and returns its secret, which can't be read again.
#[server(prefix = "/api/fn", endpoint = "token_create")]
pub async fn token_create(
    name: String,
    days: u32,
    #[server(default)] role: String,
    #[server(default)] can_mint: bool,
    #[server(default)] actions: Vec<String>,
) -> AppResult<String> {
    use domain::api_token::NewApiToken;

    use crate::host;
    let role = parse_role(&role)?;
    let actions = Some(actions).filter(|actions| !actions.is_empty());
    let new = NewApiToken { role, can_mint: Some(can_mint), actions, ..NewApiToken::new(name, days) };
    Ok(host::into_app_result(host::hub()?.create_token(&host::actor()?, &new).await)?.token)
}

/// The role with this name; `None` without one, for the role of the user.
#[cfg(feature = "ssr")]
pub(super) fn parse_role(name: &str) -> AppResult<Option<Role>> {
    use domain::Finding;

    use crate::{errors::AppError, host};
    let role = (!name.is_empty()).then(|| name.parse()).transpose();
    role.map_err(|error: domain::role::InvalidRole| {
        let finding = Finding::error("Role", error.to_string(), "Select a role.");
        host::with_status(AppError::from_finding(finding))
    })
}

/// Revokes a token.
#[server(prefix = "/api/fn", endpoint = "token_delete")]
pub async fn token_delete(id: TokenId) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.delete_token(&host::actor()?, id).await)?;
    leptos_axum::redirect(paths::SETTINGS);
    Ok(())
}

/// The section.
#[component]
pub fn TokensSection(
    delete: ServerAction<TokenDelete>,
    /// Changes when a token was created elsewhere on the page.
    created_elsewhere: Signal<usize>,
) -> impl IntoView {
    let create = ServerAction::<TokenCreate>::new();
    let data = create_resource(
        move || (create.version().get(), delete.version().get(), created_elsewhere.get()),
        |_| tokens_read(),
    );
    view! {
        <div class="stack">
            <p class="text-2">
                "An API token acts as you, with your role or a lower one: for the command line and for CI. Agents register with a join token instead."
            </p>
            {move || create.value().get().and_then(Result::ok).map(show_secret)}
            <section class="stack-sm" aria-labelledby="tokens">
                <h2 class="section" id="tokens">
                    "API tokens"
                </h2>
                {render_resource(data, show_tokens)}
            </section>
            <CreateTokenForm action=create />
        </div>
    }
    .into_any()
}

fn show_secret(secret: String) -> impl IntoView {
    view! {
        <Banner look=StatusStyle { icon: "token", hue: "hue-healthy", emphasis: "state-quiet" }>
            <div class="stack-sm">
                <p>
                    <b>"Copy the token now."</b>
                    " Only its hash is stored, so it can't be shown again."
                </p>
                <CopyLine line=secret />
            </div>
        </Banner>
    }
}

#[component]
fn CreateTokenForm(action: ServerAction<TokenCreate>) -> impl IntoView {
    let form = clear_after_success(action.value());
    view! {
        <section class="stack-sm" aria-labelledby="new-token">
            <h2 class="section" id="new-token">
                "New token"
            </h2>
            <ActionForm action=action node_ref=form attr:class="stack-md" attr:data-guarded="">
                {action_error(action.value())}
                <div class="flex flex-wrap items-end gap-4">
                    <div class="field">
                        <label class="field-label" for="token-name">
                            "Name"
                        </label>
                        <input class="input" id="token-name" name="name" placeholder="ci" maxlength="63" required=true autocomplete="off" />
                    </div>
                    {role_field("token-role", "Role")}
                    <div class="field">
                        <label class="field-label" for="token-days">
                            "Expires after"
                        </label>
                        <select class="select" id="token-days" name="days">
                            <option value="7">"7 days"</option>
                            <option value="30" selected=true>"30 days"</option>
                            <option value="90">"90 days"</option>
                            <option value="365">"a year"</option>
                        </select>
                    </div>
                    <label class="choice">
                        <input type="checkbox" class="checkbox" name="can_mint" value="true" />
                        "May create tokens"
                    </label>
                    <button class="btn btn-primary" type="submit">
                        "Create token"
                    </button>
                </div>
                {actions_field()}
            </ActionForm>
            <noscript>
                <p class="meta">"Without script the secret can't be shown; use "<code class="mono">"flotilla token create"</code>"."</p>
            </noscript>
        </section>
    }
    .into_any()
}

/// The role of a new token: the lowest is selected, none is above that of the user.
pub(super) fn role_field(id: &'static str, label: &'static str) -> impl IntoView {
    let option = |role: &'static Role| {
        let user_role = permission::use_role();
        let is_above = move || user_role.get().is_some_and(|own| *role > own);
        view! { <option value=role.as_str() disabled=is_above>{role.as_str()}</option> }
    };
    view! {
        <div class="field">
            <label class="field-label" for=id>
                {label}
            </label>
            <select class="select" id=id name="role">
                {Role::ALL.iter().map(option).collect_view()}
            </select>
        </div>
    }
}

/// The actions that the new token is limited to; without one it has all of its role.
fn actions_field() -> impl IntoView {
    let choices =
        UserAction::ALL.iter().filter(|action| !matches!(action, UserAction::View | UserAction::Validate));
    let choice = |action: &'static UserAction| {
        let name = action.as_str();
        let role = action.required_role();
        view! {
            <label class="choice" title=format!("Needs the role {role}")>
                <input type="checkbox" class="checkbox" name="actions[]" value=name />
                {name}
            </label>
        }
    };
    view! {
        <details class="fold">
            <summary>"Only some actions"</summary>
            <div class="stack-sm pt-3">
                <p class="field-help">"In addition to reading. Without a choice the token may do everything that its role allows."</p>
                <div class="flex flex-wrap gap-4">{choices.map(choice).collect_view()}</div>
            </div>
        </details>
    }
}

fn show_tokens(list: TokenList) -> AnyView {
    let at = list.at;
    if list.tokens.is_empty() {
        return view! { <Empty title="No tokens" text="The command line and CI sign in with one." command="flotilla login" /> }.into_any();
    }
    let row = move |token: TokenSummary| {
        let used = match token.last_used_at {
            Some(used) => view! { <Age since=used at=at suffix=" ago" /> }.into_any(),
            None => "never".into_any(),
        };
        // The visible text is part of the name that screen readers announce.
        let label = format!("Revoke… {}", token.name);
        let href = paths::token_dialog(&token.id.to_string());
        let limit = token
            .actions
            .map(|actions| view! { <p class="meta">{format!("only {}", actions.join(", "))}</p> });
        view! {
            <tr>
                <th scope="row" class="cell-name">
                    {token.name}
                </th>
                <td data-label="Role">{token.role.as_str()} {limit}</td>
                <td data-label="Last used">{used}</td>
                <td data-label="Expires">{format_expiry(token.expires_at, at)}</td>
                <td class="right cell-state">
                    <a class="btn btn-sm btn-danger" href=href aria-label=label>
                        "Revoke…"
                    </a>
                </td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Name"</th>
                    <th scope="col">"Role"</th>
                    <th scope="col">"Last used"</th>
                    <th scope="col">"Expires"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{list.tokens.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn format_expiry(at: Option<Timestamp>, now: Timestamp) -> String {
    match at {
        None => "never".to_owned(),
        Some(at) if at <= now => "expired".to_owned(),
        Some(at) => format!("in {}", domain::time::format_duration(at.millis_since(now))),
    }
}

/// The question before the token that the address names is revoked.
#[component]
pub fn TokenDialog(action: ServerAction<TokenDelete>) -> impl IntoView {
    let query = use_query_map();
    let id = Memo::new(move |_| query.read().get("revoke").unwrap_or_default());
    move || {
        let id = id.get();
        (!id.is_empty()).then(|| {
            let data = create_resource(|| (), |()| tokens_read());
            render_resource_part(data, move |list| show_question(&list, &id, action))
        })
    }
}

fn show_question(list: &TokenList, id: &str, action: ServerAction<TokenDelete>) -> AnyView {
    let Some(token) = list.tokens.iter().find(|token| token.id.to_string() == id) else {
        return ().into_any();
    };
    let at = list.at;
    let used = match token.last_used_at {
        Some(used) => view! {
            <div class="warn-box hue-drifted">
                "Last used " <Age since=used at=at suffix=" ago" />
                ". Whatever uses it – a command line, a CI job – is signed out at once."
            </div>
        }
        .into_any(),
        None => view! { <p>"It was never used."</p> }.into_any(),
    };
    let id = token.id.to_string();
    view! {
        <ConfirmDialog title=format!("Revoke the token {}?", token.name) back=paths::SETTINGS.to_owned()>
            <ActionForm action=action>
                <input type="hidden" name="id" value=id />
                <div class="dialog-body">
                    {action_error(action.value())}
                    {used}
                    <p>"Requests with it are rejected from now on. A revoked token can't be restored; create a new one and replace it where it is used."</p>
                </div>
                {dialog_buttons(paths::SETTINGS.to_owned(), "Revoke", "btn btn-danger-solid")}
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
