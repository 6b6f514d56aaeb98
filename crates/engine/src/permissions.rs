//! The agent's write permissions, from SelfSubjectRulesReviews (G410).
//!
//! One review yields the cluster-wide permissions, one more per namespace the additional ones there. Permissions can't
//! be watched, so they are read with the facts and again after a dry run.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::{ApiClient, ServedKind};
use crate::discovery::ServedKinds;
use crate::error::Error;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// A namespace that does not exist and thus has no role bindings: what is allowed in it is allowed cluster-wide.
const NONEXISTENT_NAMESPACE: &str = "flotilla-nowhere";
/// Max namespaces to review; with more, permissions per namespace are unknown.
const NAMESPACES_MAX: usize = 50;
/// How long a result is valid while kinds and namespaces are unchanged.
const VALID_FOR: Duration = Duration::from_secs(300);
/// Shortest interval between reads after dry runs, which often come in bursts.
const REFRESH_INTERVAL: Duration = Duration::from_secs(30);

/// Whether the agent may list a resource of the core group in all namespaces.
///
/// # Errors
/// The API server can't be asked, or does not serve such reviews.
pub(crate) async fn can_list(api: &ApiClient, resource: &str) -> Result<bool, Error> {
    let attributes = json!({"verb": "list", "resource": resource});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes}});
    Ok(api.create(ACCESS_REVIEWS, &review).await?["status"]["allowed"] == true)
}

/// The permissions of one read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Permissions {
    /// Group and kind of everything that may not be written cluster-wide.
    denied: HashSet<(String, String)>,
    /// The denied kinds that may be written in a namespace, as `KindName.group`, sorted; empty if not reviewed.
    granted: BTreeMap<String, Vec<String>>,
}

impl Permissions {
    /// Whether the kind may not be written cluster-wide.
    pub(crate) fn is_denied(&self, group: &str, kind: &str) -> bool {
        self.denied.contains(&(group.to_owned(), kind.to_owned()))
    }

    /// The kinds that may additionally be written in a namespace; `None` if unknown.
    pub(crate) fn granted_kinds(&self, namespace: &str) -> Option<Vec<String>> {
        self.granted.get(namespace).cloned()
    }
}

/// One result with its inputs.
#[derive(Clone)]
struct CachedPermissions {
    read_at: Instant,
    kinds: Arc<ServedKinds>,
    namespaces: Vec<String>,
    permissions: Option<Permissions>,
}

/// Cache of the latest result.
#[derive(Default)]
pub(crate) struct PermissionCache(Mutex<Option<CachedPermissions>>);

impl PermissionCache {
    /// The permissions; `None` if the API server can't list them completely. Cached, because facts may be read every
    /// few seconds.
    pub(crate) async fn get_or_read(
        &self,
        api: &ApiClient,
        kinds: &Arc<ServedKinds>,
        namespaces: &[String],
    ) -> Option<Permissions> {
        let is_valid = |last: &CachedPermissions| {
            last.read_at.elapsed() < VALID_FOR
                && Arc::ptr_eq(&last.kinds, kinds)
                && last.namespaces == namespaces
        };
        match self.latest().filter(is_valid) {
            Some(last) => last.permissions,
            None => self.read(api, kinds, namespaces).await,
        }
    }

    /// Reads the permissions again unless they are recent; returns whether they changed.
    pub(crate) async fn refresh(
        &self,
        api: &ApiClient,
        kinds: &Arc<ServedKinds>,
        namespaces: &[String],
    ) -> bool {
        match self.latest() {
            Some(last) if last.read_at.elapsed() >= REFRESH_INTERVAL => {
                self.read(api, kinds, namespaces).await != last.permissions
            }
            _ => false,
        }
    }

    fn latest(&self) -> Option<CachedPermissions> {
        self.0.lock().clone()
    }

    async fn read(
        &self,
        api: &ApiClient,
        kinds: &Arc<ServedKinds>,
        namespaces: &[String],
    ) -> Option<Permissions> {
        let known = read_permissions(api, kinds, namespaces).await;
        let reading = CachedPermissions {
            read_at: Instant::now(),
            kinds: kinds.clone(),
            namespaces: namespaces.to_vec(),
            permissions: known.clone(),
        };
        *self.0.lock() = Some(reading);
        known
    }
}

async fn read_permissions(
    api: &ApiClient,
    kinds: &ServedKinds,
    namespaces: &[String],
) -> Option<Permissions> {
    let everywhere = SubjectRules::fetch(api, NONEXISTENT_NAMESPACE).await?;
    let denied: Vec<&ServedKind> = kinds.iter().filter(|kind| !everywhere.can_write(kind)).collect();
    let mut granted = BTreeMap::new();
    let has_namespaced = denied.iter().any(|kind| kind.namespaced);
    if has_namespaced && namespaces.len() <= NAMESPACES_MAX {
        for namespace in namespaces {
            let local = SubjectRules::fetch(api, namespace).await?;
            let writable = denied.iter().filter(|kind| kind.namespaced && local.can_write(kind));
            let mut writable: Vec<String> = writable.map(|kind| kind_name(kind)).collect();
            writable.sort();
            writable.dedup();
            granted.insert(namespace.clone(), writable);
        }
    }
    let denied = denied.into_iter().map(|kind| (kind.group.clone(), kind.kind.clone())).collect();
    Some(Permissions { denied, granted })
}

fn kind_name(kind: &ServedKind) -> String {
    domain::cluster::facts::qualified_kind(&kind.group, &kind.kind)
}

/// The resource rules of a SelfSubjectRulesReview in one namespace.
struct SubjectRules(Vec<Value>);

impl SubjectRules {
    async fn fetch(api: &ApiClient, namespace: &str) -> Option<Self> {
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace}});
        let response = api.create(REVIEWS, &review).await.ok()?;
        Self::from_review(response)
    }

    /// Parses a review; `None` if it is incomplete (a webhook authorizer can't list rules): absence then proves
    /// nothing.
    fn from_review(mut review: Value) -> Option<Self> {
        let is_complete = review["status"]["incomplete"] == false;
        match review["status"]["resourceRules"].take() {
            Value::Array(rules) if is_complete => Some(Self(rules)),
            _ => None,
        }
    }

    /// Whether every object of this kind may be created and patched.
    fn can_write(&self, kind: &ServedKind) -> bool {
        ["create", "patch"].iter().all(|verb| {
            self.0.iter().any(|rule| {
                let names = rule["resourceNames"].as_array();
                names.is_none_or(Vec::is_empty)
                    && contains_or_wildcard(&rule["verbs"], verb)
                    && contains_or_wildcard(&rule["apiGroups"], &kind.group)
                    && contains_or_wildcard(&rule["resources"], &kind.plural)
            })
        })
    }
}

fn contains_or_wildcard(list: &Value, item: &str) -> bool {
    list.as_array().into_iter().flatten().any(|entry| entry == "*" || entry == item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rules: Value) -> SubjectRules {
        SubjectRules::from_review(json!({"status": {"incomplete": false, "resourceRules": rules}})).unwrap()
    }

    #[test]
    fn g410_a_kind_is_writable_if_all_its_objects_may_be_created_and_patched() {
        let service = ServedKind::new("", "v1", "Service", "services", true);
        let role = ServedKind::new("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false);
        let rule = |verbs: Value, group: &str, resource: &str| json!({"verbs": verbs, "apiGroups": [group], "resources": [resource]});
        let both = rules(json!([rule(json!(["create"]), "", "services"), rule(json!(["patch"]), "", "*")]));
        assert!(both.can_write(&service) && !both.can_write(&role));
        assert!(rules(json!([rule(json!(["*"]), "*", "*")])).can_write(&role));
        assert!(!rules(json!([rule(json!(["create", "update"]), "", "services")])).can_write(&service));
        assert!(!rules(json!([rule(json!(["*"]), "apps", "services")])).can_write(&service));
        let mut named = rule(json!(["*"]), "", "services");
        named["resourceNames"] = json!(["web"]);
        assert!(!rules(json!([named])).can_write(&service));
    }

    #[test]
    fn g410_an_incomplete_review_is_unknown() {
        for review in [
            json!({"status": {"incomplete": true, "resourceRules": []}}),
            json!({"status": {"resourceRules": []}}),
            json!({"status": {"incomplete": false}}),
            json!(null),
        ] {
            assert!(SubjectRules::from_review(review).is_none());
        }
    }
}
