//! The Git repositories that need credentials, a webhook or signed commits: the list, and the form for one.

use domain::authorization::UserAction;
use domain::git_repository::GitRepository;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::form_field::{TextField, secret_field};
use super::removal::use_removal;
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{ConfirmDialog, ErrorBanner, icon, render_resource};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
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
    /// Private key, for a URL over SSH; empty for another one.
    pub private_key: String,
    /// Keys of the server, for a URL over SSH.
    pub known_hosts: String,
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
    let GitRepositoryForm {
        name,
        url,
        user_name,
        secret,
        private_key,
        known_hosts,
        webhook_secret,
        allowed_signers,
    } = form;
    let credentials = GitCredentials { user_name, password: secret, private_key, known_hosts };
    let is_entered = |text: &String| !text.trim().is_empty();
    let has_credentials =
        [&credentials.user_name, &credentials.password, &credentials.private_key, &credentials.known_hosts]
            .into_iter()
            .any(is_entered);
    let put = GitRepositoryPut {
        url,
        credentials: has_credentials.then_some(credentials),
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
    host::into_app_result(host::hub()?.remove_git_repository(&host::actor()?, &name).await)?;
    leptos_axum::redirect(paths::CHARTS);
    Ok(())
}

/// The section of the page.
#[component]
pub fn GitRepositoriesSection() -> impl IntoView {
    let save = ServerAction::<GitRepositorySave>::new();
    let remove = ServerAction::<GitRepositoryRemove>::new();
    let removed = use_removal("remove-git-repository");
    let data =
        create_resource(move || (save.version().get(), remove.version().get()), |_| git_repositories_read());
    view! {
        <section class="stack-sm" aria-labelledby="git-repositories">
            <h2 class="section" id="git-repositories">"Git repositories"</h2>
            <p class="text-2">
                "A workload can follow a public repository without an entry here. Others need credentials, which are sent to the server of their URL only and never shown again."
            </p>
            {render_resource(data, show_list)}
            {show_form(save)}
            {move || removed.get().map(|name| removal_dialog(name, remove))}
        </section>
    }
    .into_any()
}

fn show_list(repositories: Vec<GitRepository>) -> AnyView {
    if repositories.is_empty() {
        return view! {
            <p class="text-3">
                "No repositories with credentials. Add one here, or with "
                <code>"flotilla git repo add deploy https://github.com/acme/deploy.git --username git --password-file token"</code> "."
            </p>
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
            <tbody>{repositories.into_iter().map(show_row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn show_row(repository: GitRepository) -> AnyView {
    let user = repository.login().to_string();
    let GitRepository { name, url, has_webhook, allowed_signers, .. } = repository;
    let label = format!("Remove {name}");
    let webhook = match has_webhook {
        true => format!("/api/v1/projects/default/git-webhooks/{name}"),
        false => "None".to_owned(),
    };
    view! {
        <tr>
            <th scope="row" class="cell-name name">{name.clone()}</th>
            <td data-label="URL" class="mono break-all">{url}</td>
            <td data-label="User">{user}</td>
            <td data-label="Webhook" class="mono break-all">{webhook}</td>
            <td data-label="Signed commits">{if allowed_signers.is_empty() { "Not required" } else { "Required" }}</td>
            <td class="right cell-state">
                <a class="btn btn-sm btn-danger" href=paths::git_repository_removal(&name) aria-label=label>{icon("trash")} "Remove"</a>
            </td>
        </tr>
    }
    .into_any()
}

/// A field for lines of text that are never displayed again.
fn lines_field(id: &'static str, name: &'static str, label: &'static str, help: &'static str) -> AnyView {
    let help_id = format!("{id}-help");
    view! {
        <div class="field">
            <label class="field-label" for=id>{label}</label>
            <textarea class="input input-mono" id=id name=name rows="3" spellcheck="false" autocomplete="off" autocapitalize="off"
                aria-describedby=help_id.clone()></textarea>
            <p class="field-help" id=help_id>{help}</p>
        </div>
    }
    .into_any()
}

fn removal_dialog(name: String, remove: ServerAction<GitRepositoryRemove>) -> AnyView {
    view! {
        <ConfirmDialog title=format!("Remove the Git repository {name}?") back=paths::CHARTS.to_owned()>
            <ActionForm action=remove>
                <Permission action=UserAction::ManageRepositories>
                    <input type="hidden" name="name" value=name />
                    <div class="dialog-body">
                        {action_error(remove.value())}
                        <p>"Its credentials, the secret of its webhook and its allowed signers are deleted. Workloads that follow it stay at their commit; the next ones are read without credentials and may be unsigned."</p>
                    </div>
                    {dialog_buttons(paths::CHARTS.to_owned(), "Remove Git repository", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
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
            <ActionForm action=save attr:class="stack-md pt-3 max-w-180" attr:data-guarded="">
                <Permission action=UserAction::ManageRepositories>
                    {result}
                    {TextField { id: "git-name", name: "form[name]", label: "Name", help: "The address of its webhook ends with it.", max_length: 63, is_required: true, ..TextField::default() }.view()}
                    {TextField { id: "git-url", name: "form[url]", label: "URL", help: "As sources name it, such as https://github.com/acme/deploy.git or git@github.com:acme/deploy.git.", max_length: 500, is_required: true, ..TextField::default() }.view()}
                    {TextField { id: "git-user", name: "form[user_name]", label: "User name", help: "Empty for a public repository and over SSH. Many servers accept any name for a token.", max_length: 200, is_required: false, ..TextField::default() }.view()}
                    {secret_field("git-secret", "form[secret]", "Password or token", "Leave empty to retain the stored one.")}
                    {lines_field("git-private-key", "form[private_key]", "Private key", "Over SSH only, without a passphrase. Leave empty to retain the stored one.")}
                    {lines_field("git-known-hosts", "form[known_hosts]", "Known hosts", "Over SSH only: the keys of the server, as ssh-keyscan prints them. Compare them with what its administrator publishes. A server that is not among them is refused. Leave empty to retain the stored ones.")}
                    {secret_field("git-webhook", "form[webhook_secret]", "Secret of the webhook", "At least 16 bytes; empty without a webhook, or to retain the stored one.")}
                    {lines_field("git-signers", "form[allowed_signers]", "Allowed signers", "SSH public keys, one a line. Commits that none of them signed are blocked. Leave empty to retain the stored ones.")}
                    <div>
                        <button class="btn btn-primary" type="submit" disabled=move || save.pending().get()>
                            {move || if save.pending().get() { "Saving…" } else { "Save Git repository" }}
                        </button>
                    </div>
                </Permission>
            </ActionForm>
        </details>
    }
    .into_any()
}
