//! Settings: API tokens, for the command line, CI and agents. A secret is displayed once.

use domain::Timestamp;
use domain::TokenId;
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use crate::components::{Age, Banner, CopyLine, Empty, ErrorBanner, StatusStyle, icon, render_resource};
use crate::errors::AppResult;
use crate::resource::create_resource;

/// A token as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSummary {
    /// Its id.
    pub id: TokenId,
    /// Its name.
    pub name: String,
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
        last_used_at: t.last_used_at,
        expires_at: t.expires_at,
    });
    Ok(TokenList { tokens: tokens.collect(), at: hub.clock().now() })
}

/// Creates a token and returns its secret, which can't be read again.
#[server(prefix = "/api/fn", endpoint = "token_create")]
pub async fn token_create(name: String, days: u32) -> AppResult<String> {
    use crate::host;
    Ok(host::into_app_result(host::hub()?.create_token(&host::actor()?, &name, days).await)?.secret)
}

/// Revokes a token.
#[server(prefix = "/api/fn", endpoint = "token_delete")]
pub async fn token_delete(id: TokenId) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.delete_token(&host::actor()?, id).await)
}

/// The page.
#[component]
pub fn SettingsPage() -> impl IntoView {
    let create = ServerAction::<TokenCreate>::new();
    let delete = ServerAction::<TokenDelete>::new();
    let data = create_resource(move || (create.version().get(), delete.version().get()), |_| tokens_read());
    view! {
        <Title text="Settings" />
        <div class="stack max-w-240">
            <div class="stack-sm">
                <h1 class="title">"Settings"</h1>
                <p class="text-2">
                    "API tokens have your rights: for the command line, for CI, and for agents that register their cluster."
                </p>
            </div>
            {move || match create.value().get() {
                Some(Ok(secret)) => show_secret(secret).into_any(),
                Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
                None => ().into_any(),
            }}
            {move || delete.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <CreateTokenForm action=create />
            <section class="stack-sm" aria-labelledby="tokens">
                <h2 class="section" id="tokens">
                    "API tokens"
                </h2>
                {render_resource(data, move |list| show_tokens(list, delete))}
            </section>
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
    view! {
        <section class="stack-sm" aria-labelledby="new-token">
            <h2 class="section" id="new-token">
                "New token"
            </h2>
            <ActionForm action=action attr:class="flex flex-wrap items-end gap-4">
                <div class="field">
                    <label class="field-label" for="token-name">
                        "Name"
                    </label>
                    <input class="input" id="token-name" name="name" placeholder="ci" maxlength="63" required=true autocomplete="off" />
                </div>
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
                <button class="btn btn-primary" type="submit">
                    "Create token"
                </button>
            </ActionForm>
            <noscript>
                <p class="meta">"Without script the secret can't be shown; use "<code class="mono">"flotilla token create"</code>"."</p>
            </noscript>
        </section>
    }
    .into_any()
}

fn show_tokens(list: TokenList, delete: ServerAction<TokenDelete>) -> AnyView {
    let at = list.at;
    if list.tokens.is_empty() {
        return view! { <Empty title="No tokens" text="The command line and agents need one." command="flotilla login" /> }.into_any();
    }
    let row = move |token: TokenSummary| {
        let used = match token.last_used_at {
            Some(used) => view! { <Age since=used at=at suffix=" ago" /> }.into_any(),
            None => "never".into_any(),
        };
        let label = format!("Revoke {}", token.name);
        view! {
            <tr>
                <th scope="row" class="cell-name">
                    {token.name}
                </th>
                <td data-label="Last used">{used}</td>
                <td data-label="Expires">{format_expiry(token.expires_at, at)}</td>
                <td class="right cell-state">
                    <ActionForm action=delete>
                        <input type="hidden" name="id" value=token.id.to_string() />
                        <button class="btn btn-sm btn-danger" type="submit" aria-label=label>
                            {icon("trash")}
                            "Revoke"
                        </button>
                    </ActionForm>
                </td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Name"</th>
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
