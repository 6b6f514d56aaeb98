//! Operations on Git repositories and on the Git sources of workloads.

use domain::git_repository::{GitRepository, GitRepositoryPut};
use domain::git_status::GitSourceStatus;
use http::Method;

use super::Client;
use crate::Error;

/// The collection of repositories.
const REPOSITORIES: &str = "git-repositories";

impl Client {
    /// The Git repositories of the project, by name.
    pub async fn list_git_repositories(&self) -> Result<Vec<GitRepository>, Error> {
        self.project_call(Method::GET, &[REPOSITORIES]).send_json().await
    }

    /// One Git repository.
    pub async fn get_git_repository(&self, name: &str) -> Result<GitRepository, Error> {
        self.project_call(Method::GET, &[REPOSITORIES, name]).send_json().await
    }

    /// Adds a Git repository, or changes it.
    pub async fn put_git_repository(
        &self,
        name: &str,
        put: &GitRepositoryPut,
    ) -> Result<GitRepository, Error> {
        self.project_call(Method::PUT, &[REPOSITORIES, name]).body(put).send_json().await
    }

    /// Removes a Git repository with its secrets.
    pub async fn remove_git_repository(&self, name: &str) -> Result<(), Error> {
        self.project_call(Method::DELETE, &[REPOSITORIES, name]).send_ignoring_body().await
    }

    /// The Git source of a workload.
    pub async fn get_git_source(&self, workload: &str) -> Result<GitSourceStatus, Error> {
        self.project_call(Method::GET, &["workloads", workload, "git"]).send_json().await
    }

    /// Checks the ref of a workload's Git source now.
    pub async fn check_git_source(&self, workload: &str) -> Result<GitSourceStatus, Error> {
        self.project_call(Method::POST, &["workloads", &format!("{workload}:checkGit")]).send_json().await
    }
}
