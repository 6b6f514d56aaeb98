//! What the agent may not write, as the API server itself reckons it (G410).
//!
//! One question tells what it may do everywhere, one more per namespace what it may do there besides. Rights leave no
//! trace that an agent could watch; so they are read with the facts, and again after somebody planned something.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::{Api, Resource};
use crate::discovery::Kinds;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
/// A namespace in which nobody is granted anything, because it is not there: what is allowed in it is allowed everywhere.
const NOWHERE: &str = "flotilla-nowhere";
/// Namespaces that are asked about; of a cluster with more it is not known what is granted in one alone.
const NAMESPACES_MAX: usize = 50;
/// A reading is good for so long, if kinds and namespaces are the same.
const LASTS: Duration = Duration::from_secs(300);
/// Plans come in crowds; the rights are read again at most so often.
const APART: Duration = Duration::from_secs(30);

/// The rights of one reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Group and kind of what may not be written everywhere.
    denied: HashSet<(String, String)>,
    /// What of that may be written in a namespace, as `Kind.group`, sorted; empty when nobody asked.
    granted: BTreeMap<String, Vec<String>>,
}

impl Known {
    /// Whether there are places in which this kind may not be written.
    pub(crate) fn denies(&self, group: &str, kind: &str) -> bool {
        self.denied.contains(&(group.to_owned(), kind.to_owned()))
    }

    /// What may be written in a namespace besides; `None` when that is not known.
    pub(crate) fn granted(&self, namespace: &str) -> Option<Vec<String>> {
        self.granted.get(namespace).cloned()
    }
}

/// One reading, and what it was of.
#[derive(Clone)]
struct Reading {
    at: Instant,
    kinds: Arc<Kinds>,
    namespaces: Vec<String>,
    known: Option<Known>,
}

/// The latest reading.
#[derive(Default)]
pub(crate) struct Rights(Mutex<Option<Reading>>);

impl Rights {
    /// What is known of them; `None` when the API server does not tell all. A reading is good for a while, because facts
    /// may change every few seconds.
    pub(crate) async fn known(&self, api: &Api, kinds: &Arc<Kinds>, namespaces: &[String]) -> Option<Known> {
        let good = |last: &Reading| {
            last.at.elapsed() < LASTS && Arc::ptr_eq(&last.kinds, kinds) && last.namespaces == namespaces
        };
        match self.last().filter(good) {
            Some(last) => last.known,
            None => self.read(api, kinds, namespaces).await,
        }
    }

    /// Reads them again, unless that was done a moment ago; says whether they are others now.
    pub(crate) async fn moved(&self, api: &Api, kinds: &Arc<Kinds>, namespaces: &[String]) -> bool {
        match self.last() {
            Some(last) if last.at.elapsed() >= APART => self.read(api, kinds, namespaces).await != last.known,
            _ => false,
        }
    }

    fn last(&self) -> Option<Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read(&self, api: &Api, kinds: &Arc<Kinds>, namespaces: &[String]) -> Option<Known> {
        let known = read(api, kinds, namespaces).await;
        let reading = Reading {
            at: Instant::now(),
            kinds: kinds.clone(),
            namespaces: namespaces.to_vec(),
            known: known.clone(),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reading);
        known
    }
}

async fn read(api: &Api, kinds: &Kinds, namespaces: &[String]) -> Option<Known> {
    let everywhere = Rules::ask(api, NOWHERE).await?;
    let denied: Vec<&Resource> = kinds.iter().filter(|kind| !everywhere.may_write(kind)).collect();
    let mut granted = BTreeMap::new();
    let some_in_namespaces = denied.iter().any(|kind| kind.namespaced);
    if some_in_namespaces && namespaces.len() <= NAMESPACES_MAX {
        for namespace in namespaces {
            let there = Rules::ask(api, namespace).await?;
            let more = denied.iter().filter(|kind| kind.namespaced && there.may_write(kind));
            let mut more: Vec<String> = more.map(|kind| name(kind)).collect();
            more.sort();
            more.dedup();
            granted.insert(namespace.clone(), more);
        }
    }
    let denied = denied.into_iter().map(|kind| (kind.group.clone(), kind.kind.clone())).collect();
    Some(Known { denied, granted })
}

fn name(kind: &Resource) -> String {
    domain::cluster::facts::kind_name(&kind.group, &kind.kind)
}

/// What the API server says that we may do in one namespace.
struct Rules(Vec<Value>);

impl Rules {
    async fn ask(api: &Api, namespace: &str) -> Option<Self> {
        let question = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace}});
        let answer = api.create(REVIEWS, &question).await.ok()?;
        Self::of(answer)
    }

    /// A server that asks somebody else about rights can't list them all: then nothing follows from what is missing.
    fn of(mut answer: Value) -> Option<Self> {
        let whole = answer["status"]["incomplete"] == false;
        match answer["status"]["resourceRules"].take() {
            Value::Array(rules) if whole => Some(Self(rules)),
            _ => None,
        }
    }

    /// Whether every object of this kind may be applied: made and changed.
    fn may_write(&self, kind: &Resource) -> bool {
        ["create", "patch"].iter().all(|verb| {
            self.0.iter().any(|rule| {
                let names = rule["resourceNames"].as_array();
                names.is_none_or(Vec::is_empty)
                    && has(&rule["verbs"], verb)
                    && has(&rule["apiGroups"], &kind.group)
                    && has(&rule["resources"], &kind.plural)
            })
        })
    }
}

fn has(list: &Value, wanted: &str) -> bool {
    list.as_array().into_iter().flatten().any(|one| one == "*" || one == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(rules: Value) -> Rules {
        Rules::of(json!({"status": {"incomplete": false, "resourceRules": rules}})).unwrap()
    }

    #[test]
    fn g410_a_kind_may_be_written_if_all_of_it_may_be_made_and_changed() {
        let service = Resource::known("", "v1", "Service", "services", true);
        let role = Resource::known("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false);
        let rule = |verbs: Value, group: &str, resource: &str| json!({"verbs": verbs, "apiGroups": [group], "resources": [resource]});
        let both = rules(json!([rule(json!(["create"]), "", "services"), rule(json!(["patch"]), "", "*")]));
        assert!(both.may_write(&service) && !both.may_write(&role));
        assert!(rules(json!([rule(json!(["*"]), "*", "*")])).may_write(&role));
        assert!(!rules(json!([rule(json!(["create", "update"]), "", "services")])).may_write(&service));
        assert!(!rules(json!([rule(json!(["*"]), "apps", "services")])).may_write(&service));
        let mut one = rule(json!(["*"]), "", "services");
        one["resourceNames"] = json!(["web"]);
        assert!(!rules(json!([one])).may_write(&service));
    }

    #[test]
    fn g410_an_answer_that_is_not_whole_says_nothing() {
        for answer in [
            json!({"status": {"incomplete": true, "resourceRules": []}}),
            json!({"status": {"resourceRules": []}}),
            json!({"status": {"incomplete": false}}),
            json!(null),
        ] {
            assert!(Rules::of(answer).is_none());
        }
    }
}
