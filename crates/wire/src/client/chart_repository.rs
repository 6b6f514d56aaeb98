//! Operations on repositories of charts and on the charts in them.

use domain::chart_repository::{
    CatalogChart, CatalogVersion, ChartRepository, ChartRepositoryPut, NewChartRepository,
};
use domain::page::Page;
use http::Method;
use serde::Serialize;

use super::Client;
use crate::Error;

/// The collection of repositories.
const REPOSITORIES: &str = "chart-repositories";
/// The collection of charts that can be used.
const CATALOG: &str = "chart-catalog";

/// Selects charts of the catalog.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CatalogQuery {
    /// Words in the name or the description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub q: String,
    /// At most this many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The previous page's `next`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl Client {
    /// The repositories of the project, by name.
    pub async fn list_chart_repositories(&self) -> Result<Vec<ChartRepository>, Error> {
        self.project_call(Method::GET, &[REPOSITORIES]).send_json().await
    }

    /// Adds a repository and reads its index.
    pub async fn create_chart_repository(&self, new: &NewChartRepository) -> Result<ChartRepository, Error> {
        self.project_call(Method::POST, &[REPOSITORIES]).body(new).send_json().await
    }

    /// One repository.
    pub async fn get_chart_repository(&self, name: &str) -> Result<ChartRepository, Error> {
        self.project_call(Method::GET, &[REPOSITORIES, name]).send_json().await
    }

    /// Changes a repository.
    pub async fn put_chart_repository(
        &self,
        name: &str,
        put: &ChartRepositoryPut,
    ) -> Result<ChartRepository, Error> {
        self.project_call(Method::PUT, &[REPOSITORIES, name]).body(put).send_json().await
    }

    /// Reads the index of a repository now.
    pub async fn refresh_chart_repository(&self, name: &str) -> Result<ChartRepository, Error> {
        self.project_call(Method::POST, &[REPOSITORIES, &format!("{name}:refresh")]).send_json().await
    }

    /// Removes a repository; rejected while a workload names a chart of it.
    pub async fn remove_chart_repository(&self, name: &str) -> Result<(), Error> {
        self.project_call(Method::DELETE, &[REPOSITORIES, name]).send_ignoring_body().await
    }

    /// The charts that can be used, by words in their name or description.
    pub async fn search_charts(&self, query: &CatalogQuery) -> Result<Page<CatalogChart>, Error> {
        self.project_call(Method::GET, &[CATALOG]).query(query).send_json().await
    }

    /// The versions of a chart, the newest first.
    pub async fn list_chart_versions(
        &self,
        repository: &str,
        chart: &str,
    ) -> Result<Vec<CatalogVersion>, Error> {
        self.project_call(Method::GET, &[CATALOG, repository, chart]).send_json().await
    }

    /// Deletes a stored version of a chart; rejected while a workload names it.
    pub async fn delete_chart(&self, repository: &str, chart: &str, version: &str) -> Result<(), Error> {
        self.project_call(Method::DELETE, &["charts", repository, chart, version]).send_ignoring_body().await
    }
}
