//! What makes a cluster pass a placement, as links to where it is done.

use domain::placement::{Remedy, RequiredChange};
use leptos::prelude::*;

use crate::components::unbroken;
use crate::paths;

/// Where a remedy is done: on the page of the cluster or of a group, or in a field, if the fields are displayed on this page.
fn remedy_address(remedy: &Remedy, cluster: &str, has_fields: bool) -> Option<String> {
    let field = |id: &str| has_fields.then(|| format!("#placement-{id}"));
    match remedy {
        Remedy::AddPredicate | Remedy::ChangeSelector => field("selection"),
        Remedy::Change { changes } => changes.iter().find_map(|change| match change {
            RequiredChange::SetLabel { .. }
            | RequiredChange::SetOtherValue { .. }
            | RequiredChange::ChangeOrRemoveLabel { .. }
            | RequiredChange::RemoveLabel { .. } => Some(paths::cluster_labels(cluster)),
            RequiredChange::JoinGroup { group } => Some(paths::group(group)),
            RequiredChange::CreateGroup { .. } => Some(paths::GROUP_NEW.to_owned()),
            RequiredChange::ConfirmFact { .. } => Some(paths::cluster(cluster)),
            RequiredChange::AddName { .. } | RequiredChange::RemoveFactTerms { .. } => field("selection"),
            RequiredChange::Upgrade { .. } => None,
        }),
        Remedy::Include { .. } => field("exclude"),
        Remedy::Tolerate { .. } => field("tolerations"),
        Remedy::Uncordon { cluster } => Some(paths::cluster_scheduling(cluster)),
        Remedy::RaiseNumber { .. } => field("number"),
        Remedy::AddSpreadLabel { .. } => Some(paths::cluster_labels(cluster)),
        Remedy::AllowSkew { .. } | Remedy::LoosenSpread => field("spread"),
        Remedy::Publish => None,
    }
}

/// The remedy, as a link to where it is done.
pub fn remedy_view(remedy: Option<&Remedy>, cluster: &str, has_fields: bool) -> AnyView {
    let Some(remedy) = remedy else { return ().into_any() };
    let text = unbroken(&remedy.to_string());
    match remedy_address(remedy, cluster, has_fields) {
        // The router would only scroll; the browser also moves the point from which Tab goes on.
        Some(href) => {
            let rel = href.starts_with('#').then_some("external");
            view! { <a class="link" href=href rel=rel>{text}</a> }.into_any()
        }
        None => text.into_any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_leads_to_the_page_or_to_the_field_where_it_is_done() {
        let label = RequiredChange::RemoveLabel { key: "env".into() };
        let labels = Remedy::Change { changes: vec![label] };
        let name = RequiredChange::AddName { cluster: "eu-1".into() };
        let names = Remedy::Change { changes: vec![name] };
        let cordon = Remedy::Uncordon { cluster: "eu-1".into() };
        let number = Remedy::RaiseNumber { to: 2 };
        let address = |remedy: &Remedy, has_fields: bool| remedy_address(remedy, "eu-1", has_fields);
        for has_fields in [true, false] {
            assert_eq!(address(&labels, has_fields), Some(paths::cluster_labels("eu-1")));
            assert_eq!(address(&cordon, has_fields), Some(paths::cluster_scheduling("eu-1")));
            assert_eq!(address(&Remedy::Publish, has_fields), None);
        }
        assert_eq!(address(&names, true).as_deref(), Some("#placement-selection"));
        assert_eq!(address(&number, true).as_deref(), Some("#placement-number"));
        let skew = Remedy::AllowSkew { key: "zone".into(), skew: 2, fewest_value: "b".into() };
        assert_eq!(address(&skew, true).as_deref(), Some("#placement-spread"), "of several spreads");
        // A recorded decision has no form on its page, and a placement as YAML no fields.
        assert_eq!((address(&names, false), address(&number, false)), (None, None));
    }
}
