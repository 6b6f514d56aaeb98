//! What the review plans and publishes.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::paths;

/// What the review plans and publishes: the draft, one override of it, or an earlier revision again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewContent {
    /// The override of the draft that is published alone; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub override_name: String,
    /// The number of the earlier revision that is published again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

impl ReviewContent {
    /// Whether it is the whole draft.
    pub const fn is_draft(&self) -> bool {
        self.override_name.is_empty() && self.revision.is_none()
    }

    /// The address of its review with this plan.
    pub fn review_path(&self, name: &str, plan: &str) -> String {
        let revision = self.revision.map(|number| number.to_string()).unwrap_or_default();
        let pairs = [("plan", plan), ("override", &self.override_name), ("revision", &revision)];
        paths::query(&paths::publish(name), &pairs)
    }

    /// The hidden fields of a form, whose names begin with `prefix`.
    pub fn hidden_fields(&self, prefix: &str) -> AnyView {
        let field = |name: &str, value: String| {
            view! { <input type="hidden" name=format!("{prefix}[{name}]") value=value /> }
        };
        let override_name =
            (!self.override_name.is_empty()).then(|| field("override_name", self.override_name.clone()));
        let revision = self.revision.map(|number| field("revision", number.to_string()));
        view! {
            {override_name}
            {revision}
        }
        .into_any()
    }

    /// What the hub publishes.
    #[cfg(feature = "ssr")]
    pub fn to_publish_content(&self) -> hub::PublishContent {
        match (self.revision, self.override_name.is_empty()) {
            (Some(number), _) => hub::PublishContent::Revision(number),
            (None, true) => hub::PublishContent::Draft,
            (None, false) => hub::PublishContent::DraftOverride(self.override_name.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_review_names_what_is_published() {
        let path = |content: ReviewContent| content.review_path("web", "1");
        assert_eq!(path(ReviewContent::default()), "/workloads/web/publish?plan=1");
        let content = ReviewContent { override_name: "east".into(), ..ReviewContent::default() };
        assert_eq!(path(content), "/workloads/web/publish?plan=1&override=east");
        let content = ReviewContent { revision: Some(3), ..ReviewContent::default() };
        assert_eq!(path(content), "/workloads/web/publish?plan=1&revision=3");
    }
}
