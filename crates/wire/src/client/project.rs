//! Calls on the project.

use domain::project::Project;
use http::Method;

use super::{Client, if_match};
use crate::{Error, ProjectPut};

impl Client {
    /// The project, with the values that it locks.
    pub async fn get_project(&self) -> Result<Project, Error> {
        self.project_call(Method::GET, &[]).send_json().await
    }

    /// Replaces the values that the project locks; rejected if it has not this revision any more.
    pub async fn put_project(&self, put: &ProjectPut, revision: i64) -> Result<Project, Error> {
        let call = self.project_call(Method::PUT, &[]).header(Some(if_match(revision)));
        call.body(put).send_json().await
    }
}
