//! Join tokens: with one, agents register without manifests of this console, such as from a chart of your own. The secret is
//! displayed once.

use domain::authorization::UserAction;
use domain::join::{JoinToken, JoinTokenState};
use domain::{JoinTokenId, Timestamp};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::labels::label_chips;
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{
    Age, Banner, ConfirmDialog, CopyLine, Empty, StatusStyle, clear_after_success, pluralize,
    render_resource_part,
};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::permission::Permission;
use crate::resource::{PageResource, count_successes, create_resource};

/// The form of a new token, as it is sent. Unticked boxes are not sent, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JoinTokenForm {
    /// The only cluster name that may use it; empty for any.
    pub cluster_name: String,
    /// Labels of clusters that join with it, `key=value`, separated by commas or spaces.
    pub labels: String,
    /// Whether clusters that join with it are accepted automatically.
    pub auto_accept: bool,
    /// How many clusters may join with it.
    pub max_uses: String,
    /// Its lifetime in minutes.
    pub minutes: u32,
}

/// A created token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedJoinToken {
    /// The complete text, for the agent's option `--join-token`.
    pub token: String,
    /// The address that agents connect to.
    pub hub: String,
}

/// The newest tokens, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinTokenList {
    /// The tokens, newest first.
    pub tokens: Vec<JoinToken>,
    /// When this was read.
    pub at: Timestamp,
}

/// The newest join tokens, also expired and revoked ones.
#[server(prefix = "/api/fn", endpoint = "join_tokens_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn join_tokens_read() -> AppResult<JoinTokenList> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let tokens = host::into_app_result(hub.list_join_tokens().await)?;
    Ok(JoinTokenList { tokens, at: hub.clock().now() })
}

/// Creates a join token and returns its text, which can't be read again.
#[server(prefix = "/api/fn", endpoint = "join_token_create")]
pub async fn join_token_create(form: JoinTokenForm) -> AppResult<CreatedJoinToken> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let agents = host::require_agent_endpoint()?;
    let new = parse_form(&form).map_err(|finding| host::with_status(AppError::from_finding(finding)))?;
    let secret = host::into_app_result(hub.create_join_token(&actor, new).await)?;
    Ok(CreatedJoinToken { token: agents.format_join_token(&secret), hub: agents.url() })
}

/// Revokes a join token; clusters that joined with it stay.
#[server(prefix = "/api/fn", endpoint = "join_token_revoke")]
pub async fn join_token_revoke(id: JoinTokenId) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.revoke_join_token(&host::actor()?, id).await)?;
    leptos_axum::redirect(paths::JOIN);
    Ok(())
}

#[cfg(feature = "ssr")]
fn parse_form(form: &JoinTokenForm) -> Result<domain::join::NewJoinToken, domain::Finding> {
    let name = form.cluster_name.trim();
    let uses = form.max_uses.trim();
    let max_uses = if uses.is_empty() { Ok(1) } else { uses.parse() }.map_err(|_| {
        let message = format!("{uses:?} is not a number of clusters.");
        domain::Finding::error(
            "TokenUses",
            message,
            format!("Write a number from 1 to {}.", domain::join::MAX_TOKEN_USES),
        )
    })?;
    Ok(domain::join::NewJoinToken {
        cluster_name: (!name.is_empty()).then(|| name.to_owned()),
        labels: crate::label_text::parse_labels(&form.labels)?,
        auto_accept: form.auto_accept,
        max_uses,
        minutes: form.minutes,
    })
}

/// The tokens, read again after each change. To be created by the page, not while another query is shown: the server renders such a
/// part several times, and would read the tokens each time.
pub fn create_token_resource(
    create: ServerAction<JoinTokenCreate>,
    revoke: ServerAction<JoinTokenRevoke>,
) -> PageResource<JoinTokenList> {
    let (created, revoked) = (count_successes(create.value()), count_successes(revoke.value()));
    // Registrations use tokens; they are in the event log, which the fleet's topic covers.
    let version = live::watch_version(|| Some(Topic::Fleet));
    create_resource(move || (created.get(), revoked.get(), version.get()), |_| join_tokens_read())
}

/// The list, and the form for a new token.
#[component]
pub fn JoinTokens(
    tokens: PageResource<JoinTokenList>,
    create: ServerAction<JoinTokenCreate>,
) -> impl IntoView {
    view! {
        <section class="stack-md" aria-labelledby="join-tokens">
            <div class="stack-sm">
                <h2 class="section" id="join-tokens">
                    "Join tokens"
                </h2>
                <p class="text-2">
                    "An agent that you install in another way, such as with your own chart, registers with a token. The manifests above contain one."
                </p>
            </div>
            {move || create.value().get().and_then(Result::ok).map(show_created)}
            {create_form(create)}
            {render_resource_part(tokens, show_tokens)}
        </section>
    }
    .into_any()
}

fn show_created(created: CreatedJoinToken) -> impl IntoView {
    view! {
        <Banner look=StatusStyle { icon: "token", hue: "hue-healthy", emphasis: "state-quiet" }>
            <div class="stack-sm min-w-0">
                <p>
                    <b>"Copy the token now."</b>
                    " Only its hash is stored, so it can't be shown again."
                </p>
                <CopyLine line=created.token />
                <p class="meta">"Agents connect to " <span class="mono">{created.hub}</span></p>
            </div>
        </Banner>
    }
}

fn create_form(action: ServerAction<JoinTokenCreate>) -> impl IntoView {
    let form = clear_after_success(action.value());
    let field = |name: &'static str, label: &'static str, placeholder: &'static str| {
        let id = format!("join-token-{name}");
        view! {
            <div class="field">
                <label class="field-label" for=id.clone()>
                    {label}
                </label>
                <input class="input input-mono" id=id name=format!("form[{name}]") placeholder=placeholder maxlength="2000"
                    autocomplete="off" autocapitalize="off" spellcheck="false" />
            </div>
        }
    };
    view! {
        <details class="fold">
            <summary>"Create a token"</summary>
            <ActionForm action=action node_ref=form attr:class="stack-md pt-3" attr:data-guarded="">
                <Permission action=UserAction::JoinCluster>
                    {action_error(action.value())}
                    <div class="grid gap-5 md:grid-cols-2">
                        {field("cluster_name", "Only for the cluster", "any name")}
                        {field("max_uses", "Uses", "1")}
                        {field("labels", "Labels of its clusters", "env=prod, region=eu")}
                        <div class="field">
                            <label class="field-label" for="join-token-minutes">
                                "Expires after"
                            </label>
                            <select class="select" id="join-token-minutes" name="form[minutes]">
                                <option value="60">"an hour"</option>
                                <option value="1440" selected=true>"a day"</option>
                                <option value="10080">"7 days"</option>
                                <option value="43200">"30 days"</option>
                            </select>
                        </div>
                    </div>
                    <label class="choice">
                        <input type="checkbox" class="checkbox" name="form[auto_accept]" value="true" />
                        "Accept its clusters automatically"
                    </label>
                    <div>
                        <button class="btn" type="submit">
                            "Create token"
                        </button>
                    </div>
                    <noscript>
                        <p class="meta">"Without script the token can't be shown; use "<code class="mono">"flotilla cluster token create"</code>"."</p>
                    </noscript>
                </Permission>
            </ActionForm>
        </details>
    }
}

fn show_tokens(list: JoinTokenList) -> AnyView {
    let at = list.at;
    if list.tokens.is_empty() {
        return view! {
            <Empty title="No join tokens" text="Manifests create one for their cluster." command="flotilla cluster token create" />
        }
        .into_any();
    }
    let row = move |token: JoinToken| {
        let state = token.state(at);
        let left = token.max_uses.saturating_sub(token.uses);
        let cluster = token.cluster_name.clone().unwrap_or_else(|| "any".to_owned());
        let revoke = (state == JoinTokenState::Valid).then(|| {
            let label = format!("Revoke the token of {} for {cluster}", token.created_by);
            let href = paths::join_token_dialog(&token.id.to_string());
            view! { <a class="btn btn-sm btn-danger" href=href aria-label=label>"Revoke…"</a> }
        });
        let accept = token.auto_accept.then(|| view! { <span class="tag">"accepts automatically"</span> });
        view! {
            <tr>
                <th scope="row" class="cell-name name">{cluster}</th>
                <td data-label="State">{state.as_str()}</td>
                <td data-label="Uses left">{format!("{left} of {}", token.max_uses)}</td>
                <td data-label="Created by">
                    {token.created_by.clone()} ", " <Age since=token.created_at at=at suffix=" ago" />
                </td>
                <td data-label="Expires">{format_expiry(&token, at)}</td>
                <td data-label=(token.auto_accept || !token.labels.is_empty()).then_some("Clusters")>
                    {accept} {label_chips(&token.labels)}
                </td>
                <td class="right cell-state">{revoke}</td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"For cluster"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Uses left"</th>
                    <th scope="col">"Created"</th>
                    <th scope="col">"Expires"</th>
                    <th scope="col">"Its clusters"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{list.tokens.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

/// `in 23 h`, or how long ago it expired.
fn format_expiry(token: &JoinToken, at: Timestamp) -> AnyView {
    let left = token.expires_at.millis_since(at);
    if left > 0 {
        let text = format!("in {}", domain::time::format_duration(left));
        return view! { <span title=crate::components::age::format_utc(token.expires_at)>{text}</span> }
            .into_any();
    }
    view! { <Age since=token.expires_at at=at suffix=" ago" /> }.into_any()
}

/// The question before the token that the address names is revoked.
#[component]
pub fn JoinTokenDialog(action: ServerAction<JoinTokenRevoke>) -> impl IntoView {
    let query = use_query_map();
    let id = Memo::new(move |_| query.read().get("revoke").unwrap_or_default());
    move || {
        let id = id.get();
        (!id.is_empty()).then(|| {
            let data = create_resource(|| (), |()| join_tokens_read());
            render_resource_part(data, move |list| show_question(&list, &id, action))
        })
    }
}

fn show_question(list: &JoinTokenList, id: &str, action: ServerAction<JoinTokenRevoke>) -> AnyView {
    let Some(token) = list.tokens.iter().find(|token| token.id.to_string() == id) else {
        return ().into_any();
    };
    let effect = match token.uses {
        0 => "No cluster has joined with it.".to_owned(),
        n => format!(
            "{} registered with it: those that are accepted stay, others get no certificate.",
            pluralize(n, "cluster")
        ),
    };
    let title = match &token.cluster_name {
        Some(name) => format!("Revoke the join token for {name}?"),
        None => "Revoke the join token for any cluster?".to_owned(),
    };
    let id = token.id.to_string();
    view! {
        <ConfirmDialog title=title back=paths::JOIN.to_owned()>
            <ActionForm action=action>
                <Permission action=UserAction::JoinCluster>
                    <input type="hidden" name="id" value=id />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>"No agent can register with it any more. "{effect}</p>
                    </div>
                    {dialog_buttons(paths::JOIN.to_owned(), "Revoke", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
