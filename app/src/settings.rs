//! Settings: API tokens, for the command line, CI and agents. A secret is shown once.

use domain::Timestamp;
use domain::TokenId;
use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use crate::components::{Age, Banner, CopyLine, Empty, Look, Said, icon, loaded};
use crate::errors::Answer;

/// A token as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Its name.
    pub name: String,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// The person's tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenList {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// When this was read.
    pub at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "tokens_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn tokens_read() -> Answer<TokenList> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let tokens = host::answer(hub.token_list(&actor).await)?;
    let tokens = tokens.into_iter().map(|t| Token {
        id: t.id,
        name: t.name,
        last_used_at: t.last_used_at,
        expires_at: t.expires_at,
    });
    Ok(TokenList { tokens: tokens.collect(), at: hub.clock().now() })
}

/// Makes a token and gives its secret, this once.
#[server(prefix = "/api/fn", endpoint = "token_create")]
pub async fn token_create(name: String, days: u32) -> Answer<String> {
    use crate::host;
    Ok(host::answer(host::hub()?.token_create(&host::actor()?, &name, days).await)?.secret)
}

/// Ends a token.
#[server(prefix = "/api/fn", endpoint = "token_delete")]
pub async fn token_delete(id: TokenId) -> Answer<()> {
    use crate::host;
    host::answer(host::hub()?.token_delete(&host::actor()?, id).await)
}

/// The page.
#[component]
pub fn SettingsPage() -> impl IntoView {
    let create = ServerAction::<TokenCreate>::new();
    let delete = ServerAction::<TokenDelete>::new();
    let data = Resource::new(move || (create.version().get(), delete.version().get()), |_| tokens_read());
    view! {
        <Title text="Settings" />
        <div class="stack max-w-240">
            <div class="stack-sm">
                <h1 class="title">"Settings"</h1>
                <p class="text-2">
                    "API tokens act as you: for the command line, for CI, and for agents that sign their cluster in."
                </p>
            </div>
            {move || match create.value().get() {
                Some(Ok(secret)) => fresh(secret).into_any(),
                Some(Err(error)) => view! { <Said error=error /> }.into_any(),
                None => ().into_any(),
            }}
            {move || delete.value().get().and_then(Result::err).map(|error| view! { <Said error=error /> })}
            <NewToken action=create />
            <section class="stack-sm" aria-labelledby="tokens">
                <h2 class="section" id="tokens">
                    "API tokens"
                </h2>
                {loaded(data, move |list| show(list, delete))}
            </section>
        </div>
    }
    .into_any()
}

fn fresh(secret: String) -> impl IntoView {
    view! {
        <Banner look=Look { icon: "token", hue: "hue-healthy", loud: "state-quiet" }>
            <div class="stack-sm">
                <p>
                    <b>"Copy the token now."</b>
                    " It is kept as a hash and can't be shown again."
                </p>
                <CopyLine line=secret />
            </div>
        </Banner>
    }
}

#[component]
fn NewToken(action: ServerAction<TokenCreate>) -> impl IntoView {
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
                        "Ends after"
                    </label>
                    <select class="select" id="token-days" name="days">
                        <option value="7">"7 days"</option>
                        <option value="30" selected=true>"30 days"</option>
                        <option value="90">"90 days"</option>
                        <option value="365">"a year"</option>
                    </select>
                </div>
                <button class="btn btn-primary" type="submit">
                    "Make token"
                </button>
            </ActionForm>
            <noscript>
                <p class="meta">"Without script the secret can't be shown; use "<code class="mono">"flotilla token create"</code>"."</p>
            </noscript>
        </section>
    }
    .into_any()
}

fn show(list: TokenList, delete: ServerAction<TokenDelete>) -> AnyView {
    let at = list.at;
    if list.tokens.is_empty() {
        return view! { <Empty title="No tokens" text="The command line and agents need one." command="flotilla login" /> }.into_any();
    }
    let row = move |token: Token| {
        let used = match token.last_used_at {
            Some(used) => view! { <Age since=used at=at suffix=" ago" /> }.into_any(),
            None => "never".into_any(),
        };
        let label = format!("End it: {}", token.name);
        view! {
            <tr>
                <th scope="row" class="cell-name">
                    {token.name}
                </th>
                <td data-label="Last used">{used}</td>
                <td data-label="Ends">{ends(token.expires_at, at)}</td>
                <td class="right cell-state">
                    <ActionForm action=delete>
                        <input type="hidden" name="id" value=token.id.to_string() />
                        <button class="btn btn-sm btn-danger" type="submit" aria-label=label>
                            {icon("trash")}
                            "End it"
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
                    <th scope="col">"Ends"</th>
                    <th scope="col" class="right"><span class="sr-only">"What can be done"</span></th>
                </tr>
            </thead>
            <tbody>{list.tokens.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn ends(at: Option<Timestamp>, now: Timestamp) -> String {
    match at {
        None => "never".to_owned(),
        Some(at) if at <= now => "ended".to_owned(),
        Some(at) => format!("in {}", domain::time::short_duration(at.since(now))),
    }
}
