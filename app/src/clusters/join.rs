//! Joining a cluster: the manifests that install its agent, with the rights that the form grants; displayed once.

use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use crate::components::{Banner, CopyBlock, CopyLine, ErrorBanner, StatusStyle, render_resource};
use crate::errors::AppResult;
use crate::paths;
use crate::resource::create_resource;

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
}

/// Generated manifests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallManifests {
    /// The name of the cluster.
    pub name: String,
    /// The manifests, with the token in them.
    pub manifest: String,
    /// Whether the cluster is accepted automatically.
    pub auto_accept: bool,
}

/// The address that agents connect to; `None` if agents are not enabled.
#[server(prefix = "/api/fn", endpoint = "agent_address_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn agent_address_read() -> AppResult<Option<String>> {
    use crate::host;
    host::actor()?;
    Ok(host::agent_endpoint().map(|agents| agents.url()))
}

/// Creates a token for one cluster and generates the manifests that install its agent. Neither can be read again.
#[server(prefix = "/api/fn", endpoint = "cluster_install")]
pub async fn cluster_install(form: JoinForm) -> AppResult<InstallManifests> {
    use crate::host;
    use domain::join::NewJoinToken;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let none = || {
        let why = domain::actions::agents_disabled().to_string();
        host::with_status(crate::errors::AppError::FailedPrecondition(why))
    };
    let agents = host::agent_endpoint().ok_or_else(none)?;
    let words =
        |text: &str| -> Vec<String> { crate::components::split_words(text).map(str::to_owned).collect() };
    let labels = parse_labels(&form.labels)
        .map_err(|finding| host::with_status(crate::errors::AppError::from_finding(finding)))?;
    let install = hub::InstallOptions {
        cluster: form.name.trim().to_owned(),
        hub: agents.url(),
        namespaces: words(&form.namespaces),
        kinds: words(&form.kinds),
        cluster_wide: form.cluster_wide,
        token: NewJoinToken { labels, auto_accept: form.auto_accept, ..NewJoinToken::default() },
        ..hub::InstallOptions::default()
    };
    let name = install.cluster.clone();
    let made = hub.create_install_manifest(&actor, install, |made| agents.format_join_token(made)).await;
    Ok(InstallManifests { name, manifest: host::into_app_result(made)?.1, auto_accept: form.auto_accept })
}

#[cfg(feature = "ssr")]
fn parse_labels(text: &str) -> Result<domain::labels::Labels, domain::Finding> {
    crate::components::split_words(text).map(super::labels::parse_label).collect()
}

/// The page.
#[component]
pub fn JoinPage() -> impl IntoView {
    let action = ServerAction::<ClusterInstall>::new();
    let data = create_resource(|| (), |()| agent_address_read());
    view! {
        <Title text="Join a cluster" />
        <div class="stack max-w-240">
            <div class="stack-sm">
                <h1 class="title">"Join a cluster"</h1>
                <p class="text-2">
                    "An agent runs in the cluster and connects to this server; the server never connects to the cluster. The agent gets the rights that you grant here and no others."
                </p>
            </div>
            {render_resource(data, move |url| match url {
                Some(url) => show_form(url, action).into_any(),
                None => show_agents_disabled().into_any(),
            })}
        </div>
    }
    .into_any()
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

fn show_form(url: String, action: ServerAction<ClusterInstall>) -> impl IntoView {
    view! {
        {move || match action.value().get() {
            Some(Ok(made)) => show_manifests(made).into_any(),
            Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
            None => ().into_any(),
        }}
        <ActionForm action=action attr:class="stack-md">
            {text_field("name", "Name", "prod-eu-1", "Lower-case letters, digits and \"-\"; it can't be changed later.", true)}
            {text_field("namespaces", "Namespaces it may write to", "shop, blog", "Separated by commas. The agent can't write to other namespaces.", false)}
            {text_field("kinds", "Kinds it may write", "the default kinds, without Secret and RBAC", "Deployment, Service … or plural.group for others, such as certificates.cert-manager.io.", false)}
            {text_field("labels", "Labels", "env=prod, region=eu", "Placements select clusters by label.", false)}
            <div class="stack-sm">
                {checkbox("cluster_wide", "May write these kinds in every namespace, and create namespaces")}
                {checkbox("auto_accept", "Accept automatically; the token works once, for this name, for a day")}
            </div>
            <div class="flex flex-wrap items-center gap-4">
                <button class="btn btn-primary" type="submit">
                    "Generate manifests"
                </button>
                <span class="meta">"Agents connect to " <span class="mono">{url}</span></span>
            </div>
            <noscript>
                <p class="meta">"Without script the manifests can't be shown; use "<code class="mono">"flotilla cluster install-manifest"</code>"."</p>
            </noscript>
        </ActionForm>
    }
}

fn text_field(
    name: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
    needed: bool,
) -> impl IntoView {
    let id = format!("join-{name}");
    let help_id = format!("join-{name}-help");
    view! {
        <div class="field">
            <label class="field-label" for=id.clone()>
                {label}
            </label>
            <input
                class="input input-mono"
                id=id
                name=format!("form[{name}]")
                placeholder=placeholder
                maxlength="2000"
                required=needed
                autocomplete="off"
                aria-describedby=help_id.clone()
            />
            <p class="field-help" id=help_id>
                {help}
            </p>
        </div>
    }
}

fn checkbox(name: &'static str, label: &'static str) -> impl IntoView {
    view! {
        <label class="choice">
            <input type="checkbox" class="checkbox" name=format!("form[{name}]") value="true" />
            {label}
        </label>
    }
}

fn show_manifests(made: InstallManifests) -> impl IntoView {
    let next = if made.auto_accept {
        view! { <p>"It is accepted automatically and appears under " <a class="link" href=paths::CLUSTERS>"Clusters"</a> "."</p> }
            .into_any()
    } else {
        view! {
            <p>
                "Then compare the key that the agent logs with the one under "
                <a class="link" href=paths::CLUSTERS>
                    "Clusters"
                </a> ", and accept it."
            </p>
        }
        .into_any()
    };
    view! {
        <Banner look=StatusStyle { icon: "token", hue: "hue-healthy", emphasis: "state-quiet" }>
            <div class="stack-sm" role="status">
                <p>
                    <b>"Copy the manifests now."</b>
                    " Only a hash of the token in them is stored, so they can't be shown again."
                </p>
                <CopyBlock text=made.manifest label=format!("Manifests for {}", made.name) />
                <p>"Apply them where kubectl points at the cluster:"</p>
                <CopyLine line=format!("kubectl apply -f {}-agent.yaml", made.name) />
                {next}
            </div>
        </Banner>
    }
}
