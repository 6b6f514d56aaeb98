//! A cluster joins: the manifests that install its agent, made once, with what the agent may do said beforehand.

use leptos::prelude::*;
use leptos_meta::Title;
use serde::{Deserialize, Serialize};

use crate::components::{Banner, CopyBlock, CopyLine, Look, Said, loaded};
use crate::errors::Answer;
use crate::paths;

/// The form, as it is sent. Unticked boxes are not sent at all, so every part has a default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JoinForm {
    /// The name the cluster is to have.
    pub name: String,
    /// Namespaces the agent may write to, separated by commas or spaces.
    pub namespaces: String,
    /// Kinds it may write, separated by commas or spaces; empty for the usual ones.
    pub kinds: String,
    /// Whether it may write everywhere and make namespaces.
    pub wide: bool,
    /// Labels it gets, `key=value`, separated by commas or spaces.
    pub labels: String,
    /// Whether nobody has to accept it.
    pub auto_accept: bool,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// The name of the cluster.
    pub name: String,
    /// The manifests, with the token in them.
    pub manifest: String,
    /// Whether nobody has to accept it.
    pub auto_accept: bool,
}

/// Where agents dial; `None` if this server takes none.
#[server(prefix = "/api/fn", endpoint = "join_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn join_read() -> Answer<Option<String>> {
    use crate::host;
    host::actor()?;
    Ok(host::agents().map(|agents| agents.url()))
}

/// Makes a token for one cluster and the manifests that install its agent; both are shown this once.
#[server(prefix = "/api/fn", endpoint = "cluster_install")]
pub async fn cluster_install(form: JoinForm) -> Answer<Installed> {
    use crate::host;
    use domain::join::NewJoinToken;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let none = || {
        let why = "This server takes no agents: start it with --agent-listen and --agent-url.";
        host::refused(crate::errors::AppError::NotNow(why.to_owned()))
    };
    let agents = host::agents().ok_or_else(none)?;
    let words = |text: &str| -> Vec<String> { crate::components::words(text).map(str::to_owned).collect() };
    let labels =
        labels(&form.labels).map_err(|finding| host::refused(crate::errors::AppError::finding(finding)))?;
    let install = hub::Install {
        cluster: form.name.trim().to_owned(),
        hub: agents.url(),
        namespaces: words(&form.namespaces),
        kinds: words(&form.kinds),
        cluster_wide: form.wide,
        token: NewJoinToken { labels, auto_accept: form.auto_accept, ..NewJoinToken::default() },
        ..hub::Install::default()
    };
    let name = install.cluster.clone();
    let made = hub.cluster_install(&actor, install, |made| agents.token(made)).await;
    Ok(Installed { name, manifest: host::answer(made)?.1, auto_accept: form.auto_accept })
}

#[cfg(feature = "ssr")]
fn labels(text: &str) -> Result<domain::labels::Labels, domain::Finding> {
    crate::components::words(text).map(super::labels::key_value).collect()
}

/// The page.
#[component]
pub fn JoinPage() -> impl IntoView {
    let action = ServerAction::<ClusterInstall>::new();
    let data = Resource::new(|| (), |()| join_read());
    view! {
        <Title text="Join a cluster" />
        <div class="stack max-w-240">
            <div class="stack-sm">
                <h1 class="title">"Join a cluster"</h1>
                <p class="text-2">
                    "An agent runs in the cluster and dials out to this server; nothing needs to reach the cluster. It may do what you grant here and no more."
                </p>
            </div>
            {loaded(data, move |url| match url {
                Some(url) => how(url, action).into_any(),
                None => closed().into_any(),
            })}
        </div>
    }
    .into_any()
}

/// The server takes no agents: what its operator does.
fn closed() -> impl IntoView {
    view! {
        <section class="empty">
            <h2>"This server takes no agents yet"</h2>
            <p>"Agents have a listener of their own, because they are known by certificates. Start the server with it:"</p>
            <CopyLine line="flotilla-server serve --agent-listen 0.0.0.0:4601 --agent-url https://flotilla.example.com:4601" />
            <p class="meta">"Clusters of a kubeconfig need no agent: --kubeconfig FILE --context NAME."</p>
        </section>
    }
}

fn how(url: String, action: ServerAction<ClusterInstall>) -> impl IntoView {
    view! {
        {move || match action.value().get() {
            Some(Ok(made)) => fresh(made).into_any(),
            Some(Err(error)) => view! { <Said error=error /> }.into_any(),
            None => ().into_any(),
        }}
        <ActionForm action=action attr:class="stack-md">
            {field("name", "Name", "prod-eu-1", "Small letters, digits and \"-\"; it never changes.", true)}
            {field("namespaces", "Namespaces it may write to", "shop, blog", "Separated by commas. Other namespaces stay out of its reach.", false)}
            {field("kinds", "Kinds it may write", "the usual ones, without Secret and RBAC", "Deployment, Service … or plural.group for others, such as certificates.cert-manager.io.", false)}
            {field("labels", "Labels", "env=prod, region=eu", "Placements choose clusters by them.", false)}
            <div class="stack-sm">
                {tick("wide", "May write these kinds in every namespace, and make namespaces")}
                {tick("auto_accept", "Let it in without asking a person; the token works once, for this name, for a day")}
            </div>
            <div class="flex flex-wrap items-center gap-4">
                <button class="btn btn-primary" type="submit">
                    "Make manifests"
                </button>
                <span class="meta">"Agents dial " <span class="mono">{url}</span></span>
            </div>
            <noscript>
                <p class="meta">"Without script the manifests can't be shown; use "<code class="mono">"flotilla cluster install-manifest"</code>"."</p>
            </noscript>
        </ActionForm>
    }
}

fn field(
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

fn tick(name: &'static str, label: &'static str) -> impl IntoView {
    view! {
        <label class="choice">
            <input type="checkbox" class="checkbox" name=format!("form[{name}]") value="true" />
            {label}
        </label>
    }
}

fn fresh(made: Installed) -> impl IntoView {
    let next = if made.auto_accept {
        view! { <p>"It is let in by itself and shows up under " <a class="link" href=paths::CLUSTERS>"Clusters"</a> "."</p> }
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
        <Banner look=Look { icon: "token", hue: "hue-healthy", loud: "state-quiet" }>
            <div class="stack-sm" role="status">
                <p>
                    <b>"Copy the manifests now."</b>
                    " The token in them is kept as a hash and can't be shown again."
                </p>
                <CopyBlock text=made.manifest label=format!("Manifests for {}", made.name) />
                <p>"Apply them where kubectl points at the cluster:"</p>
                <CopyLine line=format!("kubectl apply -f {}-agent.yaml", made.name) />
                {next}
            </div>
        </Banner>
    }
}
