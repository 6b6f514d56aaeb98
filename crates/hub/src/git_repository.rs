//! Git repositories of the project that need credentials, a webhook or signed commits.

use domain::Finding;
use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::git_repository::{GitCredentials, GitRepository, GitRepositoryPut};
use domain::remote::normalize_url;
use domain::ssh_url::is_ssh_url;
use source::git::AllowedSigners;
use store::git_repository::GitRepositoryRow;

use crate::git::{identity, invalid_key, invalid_signers, to_remote, to_ssh_credentials};
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

mod webhook;

pub use webhook::{WebhookSignature, WebhookVerification};

/// Most repositories of a project.
const MAX_REPOSITORIES: usize = 200;

impl Hub {
    /// The repositories of the project, by name.
    pub async fn list_git_repositories(&self) -> Result<Vec<GitRepository>, Error> {
        let mut tx = self.read().await?;
        let rows = store::git_repository::list(&mut tx, self.project()).await?;
        Ok(rows.into_iter().map(to_public).collect())
    }

    /// One repository.
    ///
    /// # Errors
    /// There is no such repository.
    pub async fn get_git_repository(&self, name: &str) -> Result<GitRepository, Error> {
        let mut tx = self.read().await?;
        let row = store::git_repository::get(&mut tx, self.project(), name).await?;
        Ok(to_public(row.ok_or_else(|| Error::not_found("Git repository", name))?))
    }

    /// Adds a repository, or changes it. With `expected` it must have that revision.
    ///
    /// # Errors
    /// The name, the URL or the credentials are not valid, another repository has the URL in any spelling, or secrets are omitted although the URL
    /// leads to another server: they must be entered for it, so that nobody can direct them elsewhere.
    pub async fn save_git_repository(
        &self,
        actor: &Actor,
        name: &str,
        put: GitRepositoryPut,
        expected: Option<i64>,
    ) -> Result<GitRepository, Error> {
        actor.authorize(UserAction::ManageRepositories)?;
        let findings = put.check(name);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let mut tx = self.write_as(actor, UserAction::ManageRepositories).await?;
        let rows = store::git_repository::list(&mut tx, self.project()).await?;
        let before = rows.iter().find(|row| row.name == name);
        let current = before.map_or(0, |before| before.revision);
        if expected.is_some_and(|expected| expected != current) {
            return Err(Error::RevisionConflict { current });
        }
        if before.is_none() && rows.len() >= MAX_REPOSITORIES {
            let message = format!("The project has {MAX_REPOSITORIES} Git repositories, the most possible.");
            return Err(invalid(message, "Remove one that is not used.", "/name"));
        }
        let mut row = self.build_row(actor, name, put, before)?;
        row.url_identity = choose_identity(&rows, &row, before)?;
        let written = match before {
            Some(before) => store::git_repository::update(&mut tx, &row, before.revision).await,
            None => store::git_repository::insert(&mut tx, &row).await.map(|()| true),
        };
        match written {
            Ok(true) => {}
            Ok(false) => return Err(Error::RevisionConflict { current }),
            Err(store::Error::AlreadyExists { .. }) => {
                drop(tx);
                return Err(self.find_taken_git_repository(&row).await?);
            }
            Err(error) => return Err(error.into()),
        }
        // What could not be read may be readable now.
        self.make_refs_due(&mut tx, &row.url).await?;
        let public = to_public(row);
        let message = format!("Git repository {} ({}) was saved.", public.name, public.url);
        let event = NewEvent::new(EventKind::GitRepositorySaved, &actor.name, message)
            .with_object("Git repository", name);
        let effects = CommitEffects::with_event(event).with_response(actor, 200, &public);
        self.commit(tx, effects.with_etag(public.revision)).await?;
        self.signals().git.notify_one();
        Ok(public)
    }

    /// Why a row could not be written: another request has added a repository with its name or URL meanwhile.
    async fn find_taken_git_repository(&self, row: &GitRepositoryRow) -> Result<Error, Error> {
        let mut tx = self.read().await?;
        let rows = store::git_repository::list(&mut tx, self.project()).await?;
        let is_other = |other: &&GitRepositoryRow| {
            other.name != row.name && (other.url_identity == row.url_identity || has_same_url(other, row))
        };
        Ok(match rows.iter().find(is_other) {
            Some(other) => same_url("Git", &other.name, &other.url),
            None => Error::AlreadyExists(format!(
                "Git repository {:?} was added by another request at the same time. Read it and try again.",
                row.name
            )),
        })
    }

    fn build_row(
        &self,
        actor: &Actor,
        name: &str,
        put: GitRepositoryPut,
        before: Option<&GitRepositoryRow>,
    ) -> Result<GitRepositoryRow, Error> {
        let credentials = put.credentials.map(|login| GitCredentials {
            user_name: login.user_name.trim().to_owned(),
            password: login.password.trim().to_owned(),
            private_key: login.private_key,
            known_hosts: login.known_hosts,
        });
        let mut row = GitRepositoryRow {
            project: self.project(),
            name: name.to_owned(),
            url: normalize_url(&put.url).to_owned(),
            url_identity: None,
            credentials,
            webhook_secret: put.webhook_secret,
            allowed_signers: String::new(),
            created_by: actor.name.clone(),
            created_at: self.clock().now(),
            revision: 1,
        };
        let signers = put.allowed_signers.as_deref();
        let stored = before.map_or("", |before| &before.allowed_signers);
        signers.unwrap_or(stored).trim().clone_into(&mut row.allowed_signers);
        if let Some(before) = before {
            (row.created_by, row.created_at) = (before.created_by.clone(), before.created_at);
            row.revision = before.revision + 1;
            row.webhook_secret = row.webhook_secret.or_else(|| before.webhook_secret.clone());
            retain_credentials(before, &mut row)?;
        }
        if let Some(credentials) = row.credentials.as_ref().filter(|_| is_ssh_url(&row.url)) {
            to_ssh_credentials(credentials).map_err(|error| Error::Invalid(vec![invalid_key(&error)]))?;
        }
        AllowedSigners::parse(&row.allowed_signers)
            .map_err(|error| Error::Invalid(vec![invalid_signers(&error)]))?;
        to_remote(&row.url, Some(&row)).map_err(|finding| Error::Invalid(vec![finding.with_path("/url")]))?;
        Ok(row)
    }

    /// Removes a repository with its secrets. Workloads keep the commits that they have.
    ///
    /// # Errors
    /// There is no such repository.
    pub async fn remove_git_repository(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ManageRepositories)?;
        let mut tx = self.write_as(actor, UserAction::ManageRepositories).await?;
        if !store::git_repository::delete(&mut tx, self.project(), name).await? {
            return Err(Error::not_found("Git repository", name));
        }
        let message = format!("Git repository {name} was removed.");
        let event = NewEvent::new(EventKind::GitRepositoryRemoved, &actor.name, message)
            .with_object("Git repository", name);
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await
    }
}

fn has_same_url(one: &GitRepositoryRow, other: &GitRepositoryRow) -> bool {
    identity(&one.url).is_some_and(|one| identity(&other.url) == Some(one))
}

/// The form of the URL that only this repository has. `None` while another one has it that an earlier release accepted, so that this one
/// can still be changed; with a URL that is new to it, it is refused.
fn choose_identity(
    rows: &[GitRepositoryRow],
    row: &GitRepositoryRow,
    before: Option<&GitRepositoryRow>,
) -> Result<Option<String>, Error> {
    let other = rows.iter().find(|other| other.name != row.name && has_same_url(other, row));
    match other {
        None => Ok(identity(&row.url)),
        Some(_) if before.is_some_and(|before| has_same_url(before, row)) => Ok(None),
        Some(other) => Err(same_url("Git", &other.name, &other.url)),
    }
}

/// Another repository has the same URL, perhaps in another spelling.
pub(crate) fn same_url(kind: &str, name: &str, url: &str) -> Error {
    Error::AlreadyExists(format!(
        "{kind} repository {name:?} has the same URL, {url}: spellings that differ in case, the usual port, a slash or .git at the end name \
         one repository. Change {name:?}, or remove it first."
    ))
}

fn invalid(message: String, hint: &str, path: &str) -> Error {
    Error::Invalid(vec![Finding::error("G121", message, hint).with_path(path)])
}

/// Completes the credentials of a changed repository by those that are stored for the same server.
fn retain_credentials(before: &GitRepositoryRow, row: &mut GitRepositoryRow) -> Result<(), Error> {
    let Some(stored) = &before.credentials else { return Ok(()) };
    let same_server = check_same_server(before, row);
    match &mut row.credentials {
        None => {
            same_server?;
            row.credentials = Some(stored.clone());
        }
        Some(entered) if is_ssh_url(&row.url) => {
            if entered.private_key.trim().is_empty() {
                same_server?;
                entered.retain_ssh(stored);
            } else if same_server.is_ok() {
                entered.retain_ssh(stored);
            }
        }
        Some(_) => {}
    }
    Ok(())
}

/// Stored credentials stay with the server that they were entered for.
fn check_same_server(before: &GitRepositoryRow, after: &GitRepositoryRow) -> Result<(), Error> {
    match (to_remote(&before.url, None), to_remote(&after.url, None)) {
        (Ok(before), Ok(after)) if before.has_same_origin(&after) => Ok(()),
        _ => Err(invalid(
            "The URL leads to another server, and the stored credentials are for the previous one."
                .to_owned(),
            "Enter the credentials for the new server, or remove the repository first.",
            "/credentials",
        )),
    }
}

/// What is shown of a repository: everything but the secrets.
fn to_public(row: GitRepositoryRow) -> GitRepository {
    let credentials = row.credentials.unwrap_or_default();
    GitRepository {
        name: row.name,
        url: row.url,
        has_private_key: !credentials.private_key.is_empty(),
        has_known_hosts: !credentials.known_hosts.trim().is_empty(),
        user_name: credentials.user_name,
        has_webhook: row.webhook_secret.is_some(),
        allowed_signers: row.allowed_signers,
        created_by: row.created_by,
        created_at: row.created_at,
        revision: row.revision,
    }
}
