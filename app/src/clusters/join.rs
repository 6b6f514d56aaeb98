//! Joining a cluster: the rights of its agent, one command that installs it, and the stages until the cluster is online.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use super::join_tokens::{
    JoinTokenCreate, JoinTokenDialog, JoinTokenRevoke, JoinTokens, create_token_resource,
};
use super::registrations::{RegistrationActions, RegistrationDialog};
use crate::address::defer_change;
use crate::components::{CopyLine, render_resource};
use crate::errors::AppResult;
use crate::paths;
use crate::resource::create_resource;

mod command;
mod form;
mod progress;

use command::JoinCommandStep;
use form::show_form;
use progress::JoinProgress;

/// The form, as it is sent. Unticked boxes are not sent, so every field has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JoinForm {
    /// The name of the cluster.
    pub name: String,
    /// Namespaces the agent may write to, separated by commas or spaces.
    pub namespaces: String,
    /// Kinds it may write, separated by commas or spaces; empty for the default kinds.
    pub kinds: String,
    /// Whether it may write in every namespace and create namespaces.
    pub cluster_wide: bool,
    /// Labels of the cluster, `key=value`, separated by commas or spaces.
    pub labels: String,
    /// Whether the cluster is accepted automatically.
    pub auto_accept: bool,
    /// How long the command is valid, in minutes; an hour if it is 0.
    pub minutes: u32,
}

/// What the address says about the cluster that joins: its name, and the rights of its agent. The token is not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JoinAddress {
    /// The name of the cluster; empty while none was chosen.
    pub cluster: String,
    /// Namespaces, separated by commas.
    pub namespaces: String,
    /// Kinds, separated by commas.
    pub kinds: String,
    /// `true` for every namespace.
    pub wide: String,
}

impl JoinAddress {
    fn from_query(query: &ParamsMap) -> Self {
        let part = |name: &str| query.get(name).unwrap_or_default();
        Self {
            cluster: part("cluster"),
            namespaces: part("namespaces"),
            kinds: part("kinds"),
            wide: part("wide"),
        }
    }

    /// Whether the agent may write in every namespace.
    fn is_wide(&self) -> bool {
        self.wide == "true"
    }

    /// The page with this address.
    fn to_path(&self) -> String {
        let rights = [("namespaces", &*self.namespaces), ("kinds", &*self.kinds), ("wide", &*self.wide)];
        paths::query(&paths::join_cluster(&self.cluster), &rights)
    }
}

/// The words of a list in the address that can be names of namespaces or kinds: an address may come from anybody, and the
/// words become part of a command.
fn list_words(text: &str) -> Vec<&str> {
    let is_plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
    crate::components::split_words(text).filter(is_plain).collect()
}

/// The address that agents connect to; `None` if agents are not enabled.
#[server(prefix = "/api/fn", endpoint = "agent_address_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn agent_address_read() -> AppResult<Option<String>> {
    use crate::host;
    host::actor()?;
    Ok(host::agent_endpoint().map(|agents| agents.url()))
}

/// Creates a join token for one cluster, stores it in a cookie of this browser, and leads to the page with the command. Nothing
/// else has the token: the server stores its hash.
#[server(prefix = "/api/fn", endpoint = "cluster_install")]
pub async fn cluster_install(form: JoinForm) -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let agents = host::require_agent_endpoint()?;
    let minutes = if form.minutes == 0 { form::DEFAULT_MINUTES } else { form.minutes };
    let install = parse_form(&form, agents.url(), minutes)
        .map_err(|finding| host::with_status(crate::errors::AppError::from_finding(finding)))?;
    let address = JoinAddress {
        cluster: install.cluster.clone(),
        namespaces: install.namespaces.join(","),
        kinds: install.kinds.join(","),
        wide: if install.cluster_wide { "true".to_owned() } else { String::new() },
    };
    let created =
        hub.create_install_manifest(&actor, install, |secret| agents.format_join_token(secret)).await;
    let (secret, _) = host::into_app_result(created)?;
    host::set_private_cookie(host::JOIN_COOKIE, &agents.format_join_token(&secret), i64::from(minutes) * 60);
    leptos_axum::redirect(&address.to_path());
    Ok(())
}

#[cfg(feature = "ssr")]
fn parse_form(form: &JoinForm, hub: String, minutes: u32) -> Result<hub::InstallOptions, domain::Finding> {
    use domain::join::NewJoinToken;
    let words =
        |text: &str| -> Vec<String> { crate::components::split_words(text).map(str::to_owned).collect() };
    let namespaces = if form.cluster_wide { Vec::new() } else { words(&form.namespaces) };
    if namespaces.is_empty() && !form.cluster_wide {
        let hint = "Name the namespaces of its workloads, or select every namespace.";
        return Err(domain::Finding::error("Install", "The agent could not write in any namespace.", hint));
    }
    Ok(hub::InstallOptions {
        cluster: form.name.trim().to_owned(),
        hub,
        namespaces,
        kinds: words(&form.kinds),
        cluster_wide: form.cluster_wide,
        token: NewJoinToken {
            labels: crate::label_text::parse_labels(&form.labels)?,
            auto_accept: form.auto_accept,
            minutes,
            ..NewJoinToken::default()
        },
        ..hub::InstallOptions::default()
    })
}

/// The page.
#[component]
pub fn JoinPage() -> impl IntoView {
    let query = use_query_map();
    let address = Memo::new(move |_| JoinAddress::from_query(&query.read()));
    let install = ServerAction::<ClusterInstall>::new();
    let decide = RegistrationActions::new();
    let revoke = ServerAction::<JoinTokenRevoke>::new();
    let is_joining = defer_change(Memo::new(move |_| !address.read().cluster.is_empty()));
    view! {
        <Title text="Join a cluster" />
        <div class="stack max-w-210">
            // First: without script, the open dialog is where it is in the page.
            <JoinTokenDialog action=revoke />
            <RegistrationDialog action=decide.reject back=Signal::derive(move || address.read().to_path()) />
            {move || match is_joining.get() {
                true => view! { <Joining address=address install=install decide=decide /> }.into_any(),
                false => view! { <JoinStart install=install revoke=revoke /> }.into_any(),
            }}
        </div>
    }
    .into_any()
}

/// The form that names the cluster and the rights of its agent, and the join tokens.
#[component]
fn JoinStart(install: ServerAction<ClusterInstall>, revoke: ServerAction<JoinTokenRevoke>) -> impl IntoView {
    let agents = create_resource(|| (), |()| agent_address_read());
    let create = ServerAction::<JoinTokenCreate>::new();
    let tokens = create_token_resource(create, revoke);
    view! {
        <div class="stack-sm">
            <h1 class="title">"Join a cluster"</h1>
            <p class="text-2">
                "An agent runs in the cluster and connects to this server; the server never connects to the cluster. The agent gets the rights that you grant here and no others."
            </p>
        </div>
        {render_resource(agents, move |url| match url {
            Some(url) => view! {
                <ol class="steps-how">
                    <li>{show_form(url, install)}</li>
                    {later_step("Run one command where kubectl points at it", "It installs the agent. It works once, for this cluster only.")}
                    {later_step("Wait until it is online", "You compare the key of its agent, and accept it. There is no time limit.")}
                </ol>
                <JoinTokens tokens=tokens create=create />
            }
            .into_any(),
            None => show_agents_disabled().into_any(),
        })}
    }
    .into_any()
}

/// A step of which only the title is shown.
fn later_step(title: &'static str, text: &'static str) -> impl IntoView {
    view! {
        <li class="stack-sm">
            <h2 class="section">{title}</h2>
            <p class="text-2">{text}</p>
        </li>
    }
}

/// The command, and the stages of the cluster that the address names.
#[component]
fn Joining(
    address: Memo<JoinAddress>,
    install: ServerAction<ClusterInstall>,
    decide: RegistrationActions,
) -> impl IntoView {
    // The command is read again when it is of no use any more, and not whenever a stage changes.
    let has_registered = RwSignal::new(false);
    view! {
        <div class="stack-sm">
            <h1 class="title">"Join " <span class="name">{move || address.read().cluster.clone()}</span></h1>
            <p class="text-2">
                "Its agent connects to this server; the server never connects to the cluster. "
                <a class="link" href=paths::JOIN>"Join another cluster"</a>
            </p>
        </div>
        <ol class="steps-how">
            <li class="stack-sm">
                <JoinCommandStep address=address install=install has_registered=has_registered />
            </li>
            <li class="stack-md">
                <JoinProgress address=address decide=decide has_registered=has_registered />
            </li>
        </ol>
    }
}

/// Agents are not enabled: how the server's operator enables them.
fn show_agents_disabled() -> impl IntoView {
    view! {
        <section class="empty">
            <h2>"Agents are not enabled on this server"</h2>
            <p>"Agents authenticate with certificates on a separate listener. Start the server with it:"</p>
            <CopyLine line="flotilla-server serve --agent-listen 0.0.0.0:4601 --agent-url https://flotilla.example.com:4601" />
            <p class="meta">"Clusters of a kubeconfig need no agent: --kubeconfig FILE --context NAME."</p>
        </section>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_put_shell_syntax_into_a_command() {
        assert_eq!(
            list_words("shop, blog $(id) a;b `x` certificates.cert-manager.io"),
            ["shop", "blog", "certificates.cert-manager.io"]
        );
    }
}
