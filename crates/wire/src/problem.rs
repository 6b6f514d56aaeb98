//! Problem details for HTTP APIs (RFC 9457): `application/problem+json`.

use domain::Finding;
use domain::role::Role;
use serde::{Deserialize, Serialize};

/// Media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was rejected or failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Problem {
    /// URI of the problem type: `urn:flotilla:problem:` and the code.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    #[serde(rename = "type")]
    pub kind: String,
    /// Short summary of the problem type; the same for every occurrence.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub title: String,
    /// The HTTP status.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub status: u16,
    /// Explanation of this occurrence, for people.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub detail: String,
    /// Machine-readable code, such as `RevisionConflict` or `NotFound`.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub code: String,
    /// Findings of the guard rails, each with location and hint.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub findings: Vec<Finding>,
    /// The current revision of the resource, if it was changed meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_revision: Option<i64>,
    /// The action that the role of the caller does not allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The least role that allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_role: Option<Role>,
    /// The role of the caller: that of the user, limited by that of the API token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Who can grant the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granted_by: Option<String>,
}

impl Problem {
    /// A problem with this status, code, title and detail.
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
    fn a_problem_with_missing_or_unknown_fields_is_parsed() {
        let problem: Problem =
            serde_json::from_str(r#"{"title":"Not found","status":404,"extra":[1]}"#).unwrap();
        assert_eq!((problem.status, problem.to_string()), (404, "Not found".to_owned()));
    }
}
