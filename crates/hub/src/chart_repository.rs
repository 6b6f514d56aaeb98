//! Repositories of charts: where charts come from beside uploads (S1-10). The list of a repository's charts is cached; a chart is
//! fetched once and then stored, so that neither is needed again for what is published.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use domain::chart_repository::{ChartRepository, IndexedChart, RepositoryCredentials, RepositoryFailure};
use domain::{Digest, Finding};
use parking_lot::Mutex;
use source::repository::{Login, Repository, RepositoryClient, RepositoryError, RepositoryOptions};
use store::chart_repository::ChartRepositoryRow;

use crate::{Error, Hub};

mod index;
mod refresh;
mod remove;
mod save;

use refresh::{RefreshLock, SharedRefresh};

/// Reads repositories on this server.
#[derive(Default)]
pub(crate) struct RepositoryReader {
    /// The client, once it is set.
    client: OnceLock<RepositoryClient>,
    /// Refreshes that run, by repository, its revision, and the user in whose turn it is read.
    refreshes: Mutex<HashMap<(String, i64, String), SharedRefresh>>,
    /// Of each repository that was read, by its name.
    refresh_locks: Mutex<HashMap<String, RefreshLock>>,
    /// The parsed list of each repository, by its name.
    indexes: Mutex<HashMap<String, ParsedIndex>>,
}

impl RepositoryReader {
    fn refresh_lock(&self, name: &str) -> RefreshLock {
        self.refresh_locks.lock().entry(name.to_owned()).or_default().clone()
    }
}

/// A parsed list of charts.
struct ParsedIndex {
    /// Digest of the stored list.
    digest: Digest,
    /// Size of the stored list.
    bytes: usize,
    charts: Arc<Vec<IndexedChart>>,
}

impl Hub {
    /// Sets the client that reads repositories. Without one, only charts that are stored can be used.
    pub fn set_repository_client(&self, client: RepositoryClient) {
        if self.repository_reader().client.set(client).is_err() {
            tracing::warn!("the client for repositories was set before; the first one is used");
        }
    }

    /// The client, or why there is none.
    pub(crate) fn repository_client(&self) -> Result<&RepositoryClient, ReadFailure> {
        self.repository_reader().client.get().ok_or_else(|| ReadFailure {
            message: "This server can't read repositories of charts.".to_owned(),
            hint: "Start it without --chart-repositories off, with trusted root certificates; or upload the chart."
                .to_owned(),
        })
    }

    /// The repositories of the project, by name. Those that are due are refreshed in the background.
    pub async fn list_chart_repositories(&self) -> Result<Vec<ChartRepository>, Error> {
        let mut tx = self.read().await?;
        let rows = store::chart_repository::list(&mut tx, self.project()).await?;
        drop(tx);
        for row in &rows {
            self.refresh_if_due(row);
        }
        Ok(rows.into_iter().map(to_public).collect())
    }

    /// One repository.
    ///
    /// # Errors
    /// There is no such repository.
    pub async fn get_chart_repository(&self, name: &str) -> Result<ChartRepository, Error> {
        let row = self.find_repository(name).await?;
        Ok(to_public(row.ok_or_else(|| Error::not_found("chart repository", name))?))
    }

    pub(crate) async fn find_repository(&self, name: &str) -> Result<Option<ChartRepositoryRow>, Error> {
        let mut tx = self.read().await?;
        Ok(store::chart_repository::get(&mut tx, self.project(), name).await?)
    }
}

/// Why a repository has no answer.
#[derive(Debug, Clone)]
pub(crate) struct ReadFailure {
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl From<RepositoryError> for ReadFailure {
    fn from(error: RepositoryError) -> Self {
        Self { message: error.message, hint: error.hint }
    }
}

impl ReadFailure {
    fn at(self, at: domain::Timestamp, attempts: u32) -> RepositoryFailure {
        RepositoryFailure { message: self.message, hint: self.hint, at, attempts }
    }
}

/// What is shown of a repository: everything but the secret.
fn to_public(row: ChartRepositoryRow) -> ChartRepository {
    ChartRepository {
        name: row.name,
        url: row.url,
        plain_http: row.plain_http,
        login: row.credentials.map(|credentials| credentials.to_login()).unwrap_or_default(),
        created_by: row.created_by,
        created_at: row.created_at,
        revision: row.revision,
        status: row.status,
    }
}

/// The repository with its credentials, as requests need it.
pub(crate) fn to_source(row: &ChartRepositoryRow) -> Result<Repository, Finding> {
    let login = match &row.credentials {
        None | Some(RepositoryCredentials::None) => None,
        Some(RepositoryCredentials::Basic { user_name, password, token_endpoint }) => {
            Some(Login { user_name, password, token_endpoint })
        }
        Some(RepositoryCredentials::Bearer { token }) => {
            Some(Login { user_name: "", password: token, token_endpoint: "" })
        }
    };
    let options = RepositoryOptions { url: &row.url, plain_http: row.plain_http, login };
    Repository::new(options).map_err(|error| {
        let hint = "Write https://host/path of the folder with index.yaml, or oci://host/path of a registry.";
        Finding::error("G112", error.to_string(), hint).with_path("/url")
    })
}
