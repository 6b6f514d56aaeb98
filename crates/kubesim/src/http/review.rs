//! Reviews of the client's own permissions: requests that are answered and not stored.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::decode;
use crate::object;
use crate::status::{ApiResult, StatusError};

const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const RULES_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

/// The answered review; `None` if the path is not that of a review. Every request is allowed, as for a cluster administrator.
///
/// # Errors
/// The method is not POST, the body can't be parsed, or a review of rules names no namespace.
pub(super) fn answer_review(method: &Method, path: &str, body: &Bytes) -> ApiResult<Option<Value>> {
    let is_rules = match path {
        ACCESS_REVIEWS => false,
        RULES_REVIEWS => true,
        _ => return Ok(None),
    };
    if *method != Method::POST {
        return Err(StatusError::method_not_allowed());
    }
    let mut review = decode::parse_body(body, true)?;
    if !review.is_object() {
        return Err(StatusError::bad_request("the review provided is not an object"));
    }
    let status = if is_rules {
        if object::str_at(&review, "spec.namespace").is_empty() {
            return Err(StatusError::bad_request("no namespace on request"));
        }
        json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        })
    } else {
        json!({"allowed": true})
    };
    review["status"] = status;
    Ok(Some(review))
}
