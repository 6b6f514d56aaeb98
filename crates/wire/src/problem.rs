//! What went wrong, as RFC 9457 says it: `application/problem+json`.

use domain::Finding;
use serde::{Deserialize, Serialize};

/// Media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was refused or failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Problem {
    /// A URI that names the kind of problem: `urn:flotilla:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of problem in a few words; the same for every occurrence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The sentence people read: what is wrong this time.
    pub detail: String,
    /// The word programs compare, such as `Changed` or `NotFound`.
    pub code: String,
    /// What the guard rails found; each says where and what to do.
    pub findings: Vec<Finding>,
    /// The revision the thing has now, when it was changed meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_revision: Option<i64>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(status: u16, code: &str, title: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:flotilla:problem:{code}"),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            code: code.to_owned(),
            ..Self::default()
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.detail.is_empty() { &self.title } else { &self.detail })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_with_less_or_more_fields_than_we_know_is_read() {
        let read: Problem =
            serde_json::from_str(r#"{"title":"Not found","status":404,"extra":[1]}"#).unwrap();
        assert_eq!((read.status, read.to_string()), (404, "Not found".to_owned()));
    }
}
