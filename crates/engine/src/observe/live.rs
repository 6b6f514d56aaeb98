//! One object as last seen, kept as text with the few fields that are looked at all the time.

use domain::ReleaseId;
use serde_json::Value;

use crate::wanted::{HASH_ANNOTATION, RELEASE_LABEL};

/// One object of the cluster.
#[derive(Debug)]
pub(crate) struct Live {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub version: String,
    /// The release its label names.
    pub release: Option<ReleaseId>,
    /// The hash its annotation names.
    pub hash: String,
    pub deleting: bool,
    body: Box<str>,
}

impl Live {
    pub(crate) fn of(value: &Value) -> Self {
        let metadata = &value["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        Self {
            namespace: text("namespace"),
            name: text("name"),
            uid: text("uid"),
            version: text("resourceVersion"),
            release: metadata["labels"][RELEASE_LABEL].as_str().and_then(|id| id.parse().ok()),
            hash: metadata["annotations"][HASH_ANNOTATION].as_str().unwrap_or_default().to_owned(),
            deleting: metadata["deletionTimestamp"].is_string(),
            body: value.to_string().into_boxed_str(),
        }
    }

    /// The whole object.
    pub(crate) fn value(&self) -> Value {
        // The text was written from a value above.
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Whether it was written after a list of this version was made: then that list says nothing about it.
    pub(crate) fn is_newer_than_list(&self, version: u64) -> bool {
        self.version.parse::<u64>().is_ok_and(|mine| mine > version)
    }

    /// Whether `self` is older than `other`, a state of the same object. Versions are numbers that grow on every API
    /// server there is; where they are not, the later word counts.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        match (self.version.parse::<u64>(), other.version.parse::<u64>()) {
            (Ok(mine), Ok(others)) => self.uid == other.uid && mine < others,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_older_word_about_the_same_object_is_known_as_such() {
        let of = |uid: &str, version: &str| {
            Live::of(&json!({"metadata": {"name": "a", "uid": uid, "resourceVersion": version}}))
        };
        assert!(of("u", "9").is_older_than(&of("u", "10")));
        assert!(!of("u", "10").is_older_than(&of("u", "10")));
        assert!(
            !of("u", "9").is_older_than(&of("other", "10")),
            "a new object is no newer state of the old one"
        );
        assert!(!of("u", "a").is_older_than(&of("u", "b")));
    }
}
