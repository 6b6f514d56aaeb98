//! The command that installs an agent: one line that works as it is pasted, as long as this browser has the token.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::join::{JoinToken, JoinTokenState};
use domain::labels::Labels;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ClusterInstall, JoinAddress, list_words};
use crate::components::{Age, CopyLine, CopySecretLine, ErrorBanner, icon, render_resource_part};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;

/// The command of a cluster, as far as it can be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinCommand {
    /// The newest join token of the cluster.
    pub token: Option<JoinToken>,
    /// The line; `None` if the token is of no use any more, or was created in another browser.
    pub line: Option<SecretLine>,
    /// When this was read.
    pub at: Timestamp,
}

/// A line with a secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretLine {
    /// What is before the secret.
    pub before: String,
    /// The secret.
    pub secret: String,
    /// What is after it.
    pub after: String,
}

/// The command for the cluster of this address. Only the browser in which the token was created has it, in a cookie.
#[server(prefix = "/api/fn", endpoint = "join_command_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn join_command_read(address: JoinAddress) -> AppResult<JoinCommand> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let agents = host::require_agent_endpoint()?;
    // Names of clusters are checked where tokens are created: an unknown one is not found here.
    let onboarding = host::into_app_result(hub.get_onboarding(&address.cluster).await)?;
    let (token, at) = (onboarding.token, hub.clock().now());
    let usable =
        token.as_ref().filter(|token| token.state(at) == JoinTokenState::Valid).map(|token| token.id);
    let text = host::request_cookie(host::JOIN_COOKIE)
        .filter(|text| usable.is_some() && agents.parse_join_token(text) == usable);
    let line = text.map(|secret| SecretLine {
        before: "curl -fsS -H \"Authorization: Bearer ".to_owned(),
        secret,
        after: format!(
            "\" \"{}{}\" | {}",
            host::console_origin(),
            manifest_path(&address),
            apply_command(&address.cluster)
        ),
    });
    Ok(JoinCommand { token, line, at })
}

/// Where the manifests are read with the token.
fn manifest_path(address: &JoinAddress) -> String {
    // Not encoded: the words of these lists have no character with a meaning in an address or a shell.
    let rights = match address.is_wide() {
        true => "clusterWide=true".to_owned(),
        false => format!("namespaces={}", list_words(&address.namespaces).join(",")),
    };
    let kinds = match list_words(&address.kinds).join(",") {
        kinds if kinds.is_empty() => kinds,
        kinds => format!("&kinds={kinds}"),
    };
    format!("{}?{rights}{kinds}", paths::install_manifests(&address.cluster))
}

fn apply_command(cluster: &str) -> String {
    format!("kubectl --context {cluster} apply -f -")
}

/// The same with the command line of Flotilla, which creates a token of its own.
fn cli_command(address: &JoinAddress, labels: &Labels) -> String {
    let mut line = format!("flotilla cluster install-manifest {}", address.cluster);
    match address.is_wide() {
        true => line.push_str(" --cluster-wide"),
        false => line.push_str(&format!(" --namespaces {}", list_words(&address.namespaces).join(","))),
    }
    let kinds = list_words(&address.kinds).join(",");
    if !kinds.is_empty() {
        line.push_str(&format!(" --kinds {kinds}"));
    }
    for (key, value) in labels {
        line.push_str(&format!(" --label {key}={value}"));
    }
    format!("{line} | {}", apply_command(&address.cluster))
}

/// The step with the command.
#[component]
pub fn JoinCommandStep(
    address: Memo<JoinAddress>,
    install: ServerAction<ClusterInstall>,
    /// Whether an agent has registered: then the command is of no use any more.
    has_registered: RwSignal<bool>,
) -> impl IntoView {
    let data = create_resource(
        move || (address.get(), has_registered.get(), install.version().get()),
        |(address, ..)| join_command_read(address),
    );
    view! {
        <h2 class="section">"Run this where kubectl points at it"</h2>
        {move || install.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
        {render_resource_part(data, move |command| show_command(command, &address.get_untracked(), install))}
    }
}

fn show_command(
    JoinCommand { token, line, at }: JoinCommand,
    address: &JoinAddress,
    install: ServerAction<ClusterInstall>,
) -> AnyView {
    let labels = token.as_ref().map(|token| token.labels.clone()).unwrap_or_default();
    let Some(SecretLine { before, secret, after }) = line else {
        return view! {
            <p class="text-2">{describe_missing(token.as_ref(), at)}</p>
            {new_command(address, token.as_ref(), install)}
        }
        .into_any();
    };
    let expires = token.as_ref().map(|token| view! { <UntilTime until=token.expires_at at=at /> });
    let path = manifest_path(address);
    let file = format!("{}-agent.yaml", address.cluster);
    let context = address.cluster.clone();
    view! {
        <CopySecretLine before=before secret=secret after=after />
        <p class="meta">
            "Works for one agent with the name " <span class="name">{context.clone()}</span> ", for another " {expires}
            ". Replace " <span class="mono">{format!("--context {context}")}</span>
            " if your kubectl has another name for the cluster."
        </p>
        <div class="flex flex-wrap items-center gap-3">
            // Not a page of the console.
            <a class="btn btn-sm" href=path.clone() download=file rel="external">
                {icon("download")}
                "Download the manifests"
            </a>
            <a class="link" href=path rel="external" target="_blank">"View them"</a>
        </div>
        <details class="fold">
            <summary>"With Flotilla's command line"</summary>
            <div class="stack-sm pt-2 pb-4">
                <CopyLine line=cli_command(address, &labels) />
                <p class="meta">"It creates a join token of its own, which is valid for a day."</p>
            </div>
        </details>
    }
    .into_any()
}

/// How long something is still valid.
#[component]
fn UntilTime(until: Timestamp, at: Timestamp) -> impl IntoView {
    let now = crate::live::server_now(at);
    let left = move || domain::time::format_duration(until.millis_since(now.get()).max(0));
    view! { <time datetime=until.to_string() title=crate::components::age::format_utc(until)>{left}</time> }
}

/// Why the command is not shown.
fn describe_missing(token: Option<&JoinToken>, at: Timestamp) -> AnyView {
    let text = match token.map(|token| (token, token.state(at))) {
        None => "No command was created for this name.",
        Some((token, JoinTokenState::Expired)) => {
            return view! { "The command expired " <Age since=token.expires_at at=at suffix=" ago" /> "." }
                .into_any();
        }
        Some((_, JoinTokenState::Revoked)) => "The join token of the command was revoked.",
        Some((_, JoinTokenState::UsedUp)) => "The command was used. It works once.",
        Some((token, JoinTokenState::Valid)) => {
            let text = format!(
                "{} created the command in another browser, the only one that shows it.",
                token.created_by
            );
            return text.into_any();
        }
    };
    text.into_any()
}

/// Creates a command with the same rights and labels.
fn new_command(
    address: &JoinAddress,
    token: Option<&JoinToken>,
    action: ServerAction<ClusterInstall>,
) -> impl IntoView + use<> {
    let labels = token.map(|token| &token.labels).into_iter().flatten();
    let labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    let can_repeat = address.is_wide() || !list_words(&address.namespaces).is_empty();
    if !can_repeat {
        return view! { <div><a class="btn" href=paths::JOIN>"Create a command…"</a></div> }.into_any();
    }
    let fields = [
        ("name", address.cluster.clone()),
        ("namespaces", address.namespaces.clone()),
        ("kinds", address.kinds.clone()),
        ("cluster_wide", address.is_wide().to_string()),
        ("labels", labels.join(",")),
        ("auto_accept", token.is_some_and(|token| token.auto_accept).to_string()),
    ];
    let fields = fields.map(|(name, value)| {
        view! { <input type="hidden" name=format!("form[{name}]") value=value /> }
    });
    let fields = fields.collect_view();
    view! {
        <ActionForm action=action>
            <Permission action=UserAction::JoinCluster>
                {fields}
                <button class="btn" type="submit">"Create a new command"</button>
            </Permission>
        </ActionForm>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_contains_the_rights_of_the_address() {
        let address = JoinAddress {
            cluster: "eu-1".into(),
            namespaces: "shop,blog,$(id)".into(),
            kinds: "Deployment".into(),
            wide: String::new(),
        };
        assert_eq!(manifest_path(&address), "/install/eu-1?namespaces=shop,blog&kinds=Deployment");
        let labels = [("env".to_owned(), "prod".to_owned())].into();
        let cli = cli_command(&address, &labels);
        let expected = "flotilla cluster install-manifest eu-1 --namespaces shop,blog --kinds Deployment --label env=prod \
                        | kubectl --context eu-1 apply -f -";
        assert_eq!(cli, expected);
        let wide = JoinAddress { wide: "true".into(), kinds: String::new(), ..address };
        assert_eq!(manifest_path(&wide), "/install/eu-1?clusterWide=true");
    }
}
