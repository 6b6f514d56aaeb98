//! A field of a live object that differs from what was applied.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kubernetes::time::Timestamp;

/// A field that differs, with its values and the client that changed it. Values of Secrets are hidden by the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DriftedField {
    /// JSON pointer; list items with a key are named: `/spec/containers[name=web]/image`.
    pub path: String,
    /// The applied value; `None` if only the path is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Value>,
    /// The live value; `None` if the field is missing, or was not reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Value>,
    /// The field manager that changed it; empty if it is unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manager: String,
    /// How that manager wrote, `Apply` or `Update`; empty if it is unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// When that manager last wrote the object, by the clock of its API server: shown, never compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
}

impl DriftedField {
    /// A field of which only the path is known.
    pub fn from_path(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Whether the values were reported.
    pub const fn has_values(&self) -> bool {
        self.applied.is_some() || self.live.is_some()
    }
}

/// Most characters of a value in a sentence.
const MAX_SHORT_VALUE: usize = 40;

impl DriftedField {
    /// The change in a few characters, as `2 → 5`; `None` if the values are unknown, long, or not scalar.
    pub fn short_change(&self) -> Option<String> {
        let short = |value: &Option<Value>| match value {
            None => Some("not set".to_owned()),
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Object(_) | Value::Array(_)) => None,
            Some(other) => Some(other.to_string()),
        };
        let (applied, live) = (short(&self.applied)?, short(&self.live)?);
        let fits = [&applied, &live].iter().all(|text| text.chars().count() <= MAX_SHORT_VALUE);
        (self.has_values() && fits && applied != live).then(|| format!("{applied} → {live}"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_of_scalars_is_short() {
        let field = DriftedField {
            path: "/spec/replicas".to_owned(),
            applied: Some(json!(2)),
            live: Some(json!(5)),
            manager: "kubectl-edit".to_owned(),
            ..DriftedField::default()
        };
        assert_eq!(field.short_change().as_deref(), Some("2 → 5"));
        assert_eq!(
            DriftedField { applied: None, ..field.clone() }.short_change().as_deref(),
            Some("not set → 5")
        );
        assert_eq!(DriftedField { live: Some(json!({"a": 1})), ..field }.short_change(), None);
        assert_eq!(DriftedField::from_path("/data/a").short_change(), None);
    }
}
