//! Adds and changes repositories.

use domain::Finding;
use domain::authorization::UserAction;
use domain::chart_repository::{
    ChartRepository, ChartRepositoryPut, NewChartRepository, RepositoryCredentials, RepositoryStatus,
    check_repository_name,
};
use domain::event::{EventKind, NewEvent};
use store::chart_repository::ChartRepositoryRow;

use super::{to_public, to_source};
use crate::git_repository::same_url;
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// Most repositories of a project.
const MAX_REPOSITORIES: usize = 100;
/// Longest secret, in bytes.
const MAX_SECRET_BYTES: usize = 16 << 10;

impl Hub {
    /// Adds a repository and reads its index. A repository that can't be read now is added, and its status says why.
    ///
    /// # Errors
    /// The name, the URL or the credentials are not valid, or the name or the URL in any spelling is taken.
    pub async fn create_chart_repository(
        &self,
        actor: &Actor,
        new: NewChartRepository,
    ) -> Result<ChartRepository, Error> {
        actor.authorize(UserAction::ManageRepositories)?;
        let mut row = ChartRepositoryRow {
            project: self.project(),
            name: new.name,
            url: new.url.trim().to_owned(),
            url_identity: None,
            plain_http: new.plain_http,
            credentials: to_stored(new.credentials),
            created_by: actor.name.clone(),
            created_at: self.clock().now(),
            revision: 1,
            index: None,
            etag: None,
            last_modified: None,
            status: RepositoryStatus::default(),
        };
        check_row(&row)?;
        let mut tx = self.write_as(actor, UserAction::ManageRepositories).await?;
        let existing = store::chart_repository::list(&mut tx, self.project()).await?;
        if existing.iter().any(|other| other.name == row.name) {
            return Err(Error::AlreadyExists(format!("Chart repository {:?} already exists.", row.name)));
        }
        if existing.len() >= MAX_REPOSITORIES {
            let message =
                format!("The project has {MAX_REPOSITORIES} chart repositories, the most possible.");
            return Err(Error::Invalid(vec![Finding::error(
                "G112",
                message,
                "Remove one that is not used.",
            )]));
        }
        row.url_identity = choose_identity(&existing, &row, None)?;
        match store::chart_repository::insert(&mut tx, &row).await {
            Err(store::Error::AlreadyExists { .. }) => {
                drop(tx);
                return Err(self.find_taken_repository(&row).await?);
            }
            inserted => inserted?,
        }
        // A workload may name the repository already.
        store::queue::PLACER.mark_all(&mut tx, self.clock().now()).await?;
        let public = to_public(row.clone());
        let effects = CommitEffects::with_event_for_placer(saved_event(actor, &row, "added"));
        self.commit(tx, effects.with_response(actor, 201, &public).with_etag(public.revision)).await?;
        self.refresh_saved(&row, public).await
    }

    /// Changes a repository and reads its index. With `expected` it must have that revision.
    ///
    /// # Errors
    /// There is no such repository, the URL or the credentials are not valid, another repository has the URL in any spelling, or the
    /// credentials are omitted although the
    /// URL leads to another server: they must be entered for it, so that nobody can direct them elsewhere.
    pub async fn change_chart_repository(
        &self,
        actor: &Actor,
        name: &str,
        put: ChartRepositoryPut,
        expected: Option<i64>,
    ) -> Result<ChartRepository, Error> {
        actor.authorize(UserAction::ManageRepositories)?;
        let mut tx = self.write_as(actor, UserAction::ManageRepositories).await?;
        let found = store::chart_repository::get(&mut tx, self.project(), name).await?;
        let before = found.ok_or_else(|| Error::not_found("chart repository", name))?;
        if expected.is_some_and(|expected| expected != before.revision) {
            return Err(Error::RevisionConflict { current: before.revision });
        }
        let mut row = ChartRepositoryRow {
            url: put.url.trim().to_owned(),
            plain_http: put.plain_http,
            revision: before.revision + 1,
            ..before.clone()
        };
        match put.credentials {
            Some(credentials) => row.credentials = to_stored(credentials),
            None if row.credentials.is_some() => check_same_server(&before, &row)?,
            None => {}
        }
        check_row(&row)?;
        if (&row.url, row.plain_http) != (&before.url, before.plain_http) {
            // The index is that of another server.
            (row.index, row.etag, row.last_modified) = (None, None, None);
            row.status = RepositoryStatus::default();
        }
        let existing = store::chart_repository::list(&mut tx, self.project()).await?;
        row.url_identity = choose_identity(&existing, &row, Some(&before))?;
        match store::chart_repository::update(&mut tx, &row, before.revision).await {
            Ok(true) => {}
            Ok(false) => return Err(Error::RevisionConflict { current: before.revision }),
            Err(store::Error::AlreadyExists { .. }) => {
                drop(tx);
                return Err(self.find_taken_repository(&row).await?);
            }
            Err(error) => return Err(error.into()),
        }
        store::queue::PLACER.mark_all(&mut tx, self.clock().now()).await?;
        let public = to_public(row.clone());
        let effects = CommitEffects::with_event_for_placer(saved_event(actor, &row, "changed"));
        self.commit(tx, effects.with_response(actor, 200, &public).with_etag(public.revision)).await?;
        self.refresh_saved(&row, public).await
    }

    /// Why a row could not be written: another request has added a repository with its name or URL meanwhile.
    async fn find_taken_repository(&self, row: &ChartRepositoryRow) -> Result<Error, Error> {
        let mut tx = self.read().await?;
        let rows = store::chart_repository::list(&mut tx, self.project()).await?;
        let is_other = |other: &&ChartRepositoryRow| {
            other.name != row.name && (other.url_identity == row.url_identity || has_same_url(other, row))
        };
        Ok(match rows.iter().find(is_other) {
            Some(other) => same_url("Chart", &other.name, &other.url),
            None => Error::AlreadyExists(format!("Chart repository {:?} already exists.", row.name)),
        })
    }

    /// The repository after its first refresh; without an index, as it was saved.
    async fn refresh_saved(
        &self,
        row: &ChartRepositoryRow,
        saved: ChartRepository,
    ) -> Result<ChartRepository, Error> {
        if let Err(error) = self.refresh_within_request(row).await {
            // It is saved, and its index stays due.
            tracing::debug!(%error, repository = row.name, "the index of a saved repository was not read");
        }
        let found = self.find_repository(&row.name).await?;
        Ok(found.map_or(saved, to_public))
    }
}

/// The URL in the form that all its spellings share; `None` if it is not valid.
fn identity(row: &ChartRepositoryRow) -> Option<String> {
    let public = ChartRepositoryRow { credentials: None, ..row.clone() };
    Some(to_source(&public).ok()?.identity())
}

fn has_same_url(one: &ChartRepositoryRow, other: &ChartRepositoryRow) -> bool {
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// The form of the URL that only this repository has. `None` while another one has it that an earlier release accepted, so that this one
/// can still be changed; with a URL that is new to it, it is refused.
fn choose_identity(
    rows: &[ChartRepositoryRow],
    row: &ChartRepositoryRow,
    before: Option<&ChartRepositoryRow>,
) -> Result<Option<String>, Error> {
    let other = rows.iter().find(|other| other.name != row.name && has_same_url(other, row));
    match other {
        None => Ok(identity(row)),
        Some(_) if before.is_some_and(|before| has_same_url(before, row)) => Ok(None),
        Some(other) => Err(same_url("Chart", &other.name, &other.url)),
    }
}

fn saved_event(actor: &Actor, row: &ChartRepositoryRow, action: &str) -> NewEvent {
    let message = format!("Chart repository {} ({}) was {action}.", row.name, row.url);
    NewEvent::new(EventKind::ChartRepositorySaved, &actor.name, message)
        .with_object("chart repository", &row.name)
}

fn to_stored(credentials: RepositoryCredentials) -> Option<RepositoryCredentials> {
    match credentials {
        RepositoryCredentials::None => None,
        RepositoryCredentials::Basic { user_name, password, token_endpoint } => {
            let user_name = user_name.trim().to_owned();
            Some(RepositoryCredentials::Basic { user_name, password, token_endpoint })
        }
        RepositoryCredentials::Bearer { token } => {
            Some(RepositoryCredentials::Bearer { token: token.trim().to_owned() })
        }
    }
}

fn check_row(row: &ChartRepositoryRow) -> Result<(), Error> {
    let mut findings: Vec<Finding> = check_repository_name(&row.name).into_iter().collect();
    findings.extend(to_source(row).err());
    let missing = |what: &str, path: &str| {
        let message = format!("The {what} of the repository is empty.");
        Finding::error("G112", message, "Write it, or choose no credentials.").with_path(path)
    };
    let mut check_secret = |secret: &str, path: &str| {
        if secret.len() > MAX_SECRET_BYTES {
            let message = format!("The secret has more than {MAX_SECRET_BYTES} bytes.");
            findings.push(Finding::error("G112", message, "Use a shorter one.").with_path(path));
        }
    };
    match &row.credentials {
        Some(RepositoryCredentials::Basic { user_name, password, .. }) => {
            check_secret(password, "/credentials/password");
            if user_name.is_empty() {
                findings.push(missing("user name", "/credentials/userName"));
            }
        }
        Some(RepositoryCredentials::Bearer { token }) => {
            check_secret(token, "/credentials/token");
            if token.is_empty() {
                findings.push(missing("token", "/credentials/token"));
            }
        }
        _ => {}
    }
    if findings.is_empty() { Ok(()) } else { Err(Error::Invalid(findings)) }
}

/// Stored credentials stay with the server that they were entered for.
fn check_same_server(before: &ChartRepositoryRow, after: &ChartRepositoryRow) -> Result<(), Error> {
    let public =
        |row: &ChartRepositoryRow| to_source(&ChartRepositoryRow { credentials: None, ..row.clone() });
    match (public(before), public(after)) {
        (Ok(before), Ok(after)) if before.has_same_origin(&after) => Ok(()),
        (_, Err(finding)) => Err(Error::Invalid(vec![finding])),
        _ => {
            let message =
                "The URL leads to another server, and the stored credentials are for the previous one.";
            let hint = "Enter the credentials for the new server, or choose none.";
            Err(Error::Invalid(vec![Finding::error("G112", message, hint).with_path("/credentials")]))
        }
    }
}
