//! Custom verbs: `…/workloads/web:publish`.
//!
//! The router can't match part of a segment, so internally the verb is a segment of its own after `-`. Only this file
//! depends on that. The OpenAPI document and every link have the colon.

use std::collections::BTreeSet;

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// Separator of name and verb in internal paths.
pub const INTERNAL_SEPARATOR: &str = "/-/";

/// `/x/name:verb` becomes `/x/name/-/verb` if it is one of these verbs. Any other suffix stays part of the name, which then
/// is not found.
pub fn split_verb<B>(verbs: &BTreeSet<String>, mut request: Request<B>) -> Request<B> {
    if let Some(uri) = to_internal_uri(verbs, request.uri()) {
        *request.uri_mut() = uri;
    }
    request
}

fn to_internal_uri(verbs: &BTreeSet<String>, uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !path.starts_with("/api/v1/") {
        return None;
    }
    if path.contains(INTERNAL_SEPARATOR) {
        // The internal form is not a public path.
        return with_path(uri, "/api/v1/-");
    }
    let (head, verb) = path.rsplit_once(':')?;
    let name = head.rsplit('/').next().unwrap_or_default();
    (verbs.contains(verb) && !name.is_empty())
        .then(|| with_path(uri, &format!("{head}{INTERNAL_SEPARATOR}{verb}")))?
}

fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{path}{query}")).ok()?);
    Uri::from_parts(parts).ok()
}

/// The public form of an internal path.
pub fn to_public_path(path: &str) -> String {
    path.replace(INTERNAL_SEPARATOR, ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish() -> BTreeSet<String> {
        ["publish".to_owned()].into()
    }

    #[test]
    fn a_verb_becomes_a_segment_and_back_again() {
        let uri: Uri = "/api/v1/projects/default/workloads/web:publish?dryRun=true".parse().unwrap();
        let inner = to_internal_uri(&publish(), &uri).unwrap();
        assert_eq!(inner, "/api/v1/projects/default/workloads/web/-/publish?dryRun=true");
        assert_eq!(to_public_path(inner.path()), uri.path());
    }

    #[test]
    fn other_colons_are_unchanged_and_the_internal_form_is_not_a_public_path() {
        for path in ["/api/v1/projects/default/workloads:validate", "/api/v1/clusters/eu-1", "/x:publish"] {
            assert_eq!(to_internal_uri(&publish(), &path.parse().unwrap()), None, "{path}");
        }
        let inner = "/api/v1/projects/default/workloads/web/-/publish".parse().unwrap();
        assert_eq!(to_internal_uri(&publish(), &inner).unwrap(), "/api/v1/-");
    }
}
