//! The Git repositories that need credentials, a webhook or signed commits: the list, and the form for one.

use domain::git_repository::GitRepository;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::{Empty, ErrorBanner, icon, render_resource};
use crate::errors::AppResult;
use crate::resource::create_resource;

/// A repository as entered in the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitRepositoryForm {
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// User name; empty for a public repository.
    pub user_name: String,
    /// Password or token; empty for a public repository.
    pub secret: String,
    /// Secret of its webhook; empty without one.
    pub webhook_secret: String,
    /// SSH public keys that commits must be signed with.
    pub allowed_signers: String,
}

/// All repositories.
#[server(prefix = "/api/fn", endpoint = "git_repositories_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn git_repositories_read() -> AppResult<Vec<GitRepository>> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.list_git_repositories().await)
}

/// Adds a repository, or changes it.
#[server(prefix = "/api/fn", endpoint = "git_repository_save")]
pub async fn git_repository_save(form: GitRepositoryForm) -> AppResult<GitRepository> {
    use crate::host;
    use domain::git_repository::{GitCredentials, GitRepositoryPut};
    let GitRepositoryForm { name, url, user_name, secret, webhook_secret, allowed_signers } = form;
    let has_credentials = !user_name.trim().is_empty() || !secret.is_empty();
    let put = GitRepositoryPut {
        url,
        credentials: has_credentials.then_some(GitCredentials { user_name, password: secret }),
        webhook_secret: Some(webhook_secret).filter(|secret| !secret.is_empty()),
        allowed_signers: Some(allowed_signers).filter(|keys| !keys.trim().is_empty()),
    };
    let (hub, actor) = (host::hub()?, host::actor()?);
    host::into_app_result(hub.save_git_repository(&actor, name.trim(), put, None).await)
}

/// Removes a repository with its secrets.
#[server(prefix = "/api/fn", endpoint = "git_repository_remove")]
pub async fn git_repository_remove(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.remove_git_repository(&host::actor()?, &name).await)
}

/// The section of the page.
#[component]
pub fn GitRepositoriesSection() -> impl IntoView {
    let save = ServerAction::<GitRepositorySave>::new();
    let remove = ServerAction::<GitRepositoryRemove>::new();
    let data =
        create_resource(move || (save.version().get(), remove.version().get()), |_| git_repositories_read());
    view! {
        <section class="stack-sm" aria-labelledby="git-repositories">
            <h2 class="section" id="git-repositories">"Git repositories"</h2>
            <p class="text-2">
                "A public repository needs no entry. Credentials are sent to the server of this URL only, and never shown again."
            </p>
            {move || remove.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            {render_resource(data, move |list| show_list(list, remove))}
            {show_form(save)}
        </section>
    }
    .into_any()
}

fn show_list(repositories: Vec<GitRepository>, remove: ServerAction<GitRepositoryRemove>) -> AnyView {
    if repositories.is_empty() {
        return view! {
            <Empty title="No Git repositories with credentials" text="Add one for a repository that is not public, or to receive its webhook."
                command="flotilla git repo add deploy https://github.com/acme/deploy.git --username git --password-file token" />
        }
        .into_any();
    }
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Repository"</th>
                    <th scope="col">"URL"</th>
                    <th scope="col">"User"</th>
                    <th scope="col">"Webhook"</th>
                    <th scope="col">"Signed commits"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{repositories.into_iter().map(|one| show_row(one, remove)).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn show_row(repository: GitRepository, remove: ServerAction<GitRepositoryRemove>) -> AnyView {
    let GitRepository { name, url, user_name, has_webhook, allowed_signers, .. } = repository;
    let label = format!("Remove {name}");
    let webhook = match has_webhook {
        true => format!("/api/v1/projects/default/git-webhooks/{name}"),
        false => "None".to_owned(),
    };
    let user = if user_name.is_empty() { "Public".to_owned() } else { user_name };
    view! {
        <tr>
            <th scope="row" class="cell-name name">{name.clone()}</th>
            <td data-label="URL" class="mono break-all">{url}</td>
            <td data-label="User">{user}</td>
            <td data-label="Webhook" class="mono break-all">{webhook}</td>
            <td data-label="Signed commits">{if allowed_signers.is_empty() { "Not required" } else { "Required" }}</td>
            <td class="right cell-state">
                <ActionForm action=remove>
                    <input type="hidden" name="name" value=name />
                    <button class="btn btn-sm btn-danger" type="submit" aria-label=label>{icon("trash")} "Remove"</button>
                </ActionForm>
            </td>
        </tr>
    }
    .into_any()
}

fn show_form(save: ServerAction<GitRepositorySave>) -> AnyView {
    let result = move || match save.value().get() {
        Some(Err(error)) => view! { <ErrorBanner error=error /> }.into_any(),
        Some(Ok(saved)) => view! { <p role="status">{format!("{} was saved.", saved.name)}</p> }.into_any(),
        None => ().into_any(),
    };
    view! {
        <details class="fold">
            <summary>"Add Git repository"</summary>
            <ActionForm action=save attr:class="stack-md pt-3 max-w-180">
                {result}
                {field(TextField { id: "git-name", name: "form[name]", label: "Name", help: "The address of its webhook ends with it.", longest: "63", required: true })}
                {field(TextField { id: "git-url", name: "form[url]", label: "URL", help: "As sources name it, such as https://github.com/acme/deploy.git.", longest: "500", required: true })}
                {field(TextField { id: "git-user", name: "form[user_name]", label: "User name", help: "Empty for a public repository. Many servers accept any name for a token.", longest: "200", required: false })}
                {secret("git-secret", "form[secret]", "Password or token", "Empty to keep the stored one.")}
                {secret("git-webhook", "form[webhook_secret]", "Secret of the webhook", "At least 16 bytes; empty without a webhook, or to keep the stored one.")}
                <div class="field">
                    <label class="field-label" for="git-signers">"Allowed signers"</label>
                    <textarea class="input input-mono" id="git-signers" name="form[allowed_signers]" rows="3" spellcheck="false"></textarea>
                    <p class="field-help">"SSH public keys, one a line. Commits that none of them signed are blocked. Empty to keep the stored ones."</p>
                </div>
                <div>
                    <button class="btn btn-primary" type="submit" disabled=move || save.pending().get()>
                        {move || if save.pending().get() { "Saving…" } else { "Save Git repository" }}
                    </button>
                </div>
            </ActionForm>
        </details>
    }
    .into_any()
}

/// A line of text in the form.
struct TextField {
    id: &'static str,
    name: &'static str,
    label: &'static str,
    help: &'static str,
    longest: &'static str,
    required: bool,
}

fn field(field: TextField) -> AnyView {
    let TextField { id, name, label, help, longest, required } = field;
    view! {
        <div class="field">
            <label class="field-label" for=id>{label}</label>
            <input class="input input-mono" id=id name=name required=required maxlength=longest autocomplete="off" autocapitalize="off" spellcheck="false" />
            <p class="field-help">{help}</p>
        </div>
    }
    .into_any()
}

fn secret(id: &'static str, name: &'static str, label: &'static str, help: &'static str) -> AnyView {
    view! {
        <div class="field">
            <label class="field-label" for=id>{label}</label>
            <input class="input" id=id type="password" name=name maxlength="16000" autocomplete="new-password" />
            <p class="field-help">{help}</p>
        </div>
    }
    .into_any()
}
