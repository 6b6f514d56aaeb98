//! Custom verbs: `…/workloads/web:publish`.
//!
//! The router can't match half a segment, so inside the house the verb is a segment of its own behind `-`; this is the
//! only file that knows. The OpenAPI document and every link show the colon.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// How a verb is marked inside the house.
const INSIDE: &str = "/-/";

/// The verbs that follow a name. Others stay part of the name, which then is not found.
const VERBS: [&str; 15] = [
    "plan",
    "publish",
    "restore",
    "unpublish",
    "sync",
    "keep",
    "accept",
    "reject",
    "revoke",
    "install",
    "pause",
    "resume",
    "approve",
    "promote",
    "abort",
];

/// `/x/name:verb` becomes `/x/name/-/verb`.
pub fn split_verb<B>(mut request: Request<B>) -> Request<B> {
    if let Some(uri) = inside(request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

fn inside(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !path.starts_with("/api/v1/") {
        return None;
    }
    if path.contains(INSIDE) {
        // The inner form is nobody's address.
        return with_path(uri, "/api/v1/-");
    }
    let (head, verb) = path.rsplit_once(':')?;
    let name = head.rsplit('/').next().unwrap_or_default();
    (VERBS.contains(&verb) && !name.is_empty()).then(|| with_path(uri, &format!("{head}{INSIDE}{verb}")))?
}

fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{path}{query}")).ok()?);
    Uri::from_parts(parts).ok()
}

/// The address as it is written outside.
pub fn outside(path: &str) -> String {
    path.replace(INSIDE, ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_becomes_a_segment_and_back() {
        let uri: Uri = "/api/v1/projects/default/workloads/web:publish?dryRun=true".parse().unwrap();
        let inner = inside(&uri).unwrap();
        assert_eq!(inner, "/api/v1/projects/default/workloads/web/-/publish?dryRun=true");
        assert_eq!(outside(inner.path()), uri.path());
    }

    #[test]
    fn other_colons_stay_where_they_are_and_the_inner_form_is_nobodys_address() {
        for path in ["/api/v1/projects/default/workloads:validate", "/api/v1/clusters/eu-1", "/x:publish"] {
            assert_eq!(inside(&path.parse().unwrap()), None, "{path}");
        }
        let inner = "/api/v1/projects/default/workloads/web/-/publish".parse().unwrap();
        assert_eq!(inside(&inner).unwrap(), "/api/v1/-");
    }
}
