//! Hooks of charts (G118): objects that Helm creates at a point of an installation, and that Flotilla does not apply.

use serde_json::Value;

use crate::text::finding::Finding;
use crate::text::manifest::ParsedManifests;

/// The annotation that makes an object a hook, with the events it is for.
pub const HOOK_ANNOTATION: &str = "helm.sh/hook";

/// The events of a hook; empty for an object that is none.
pub fn hook_events(object: &Value) -> Vec<&str> {
    let annotation = object.pointer("/metadata/annotations").and_then(|all| all.get(HOOK_ANNOTATION));
    let events = annotation.and_then(Value::as_str).unwrap_or_default().split(',').map(str::trim);
    events.filter(|event| !event.is_empty()).collect()
}

/// G118: a finding for every hook in the manifests of a chart. Applied like other objects, a hook would run at another time than
/// the chart needs: a job that prepares a database would run beside the server that it prepares.
pub fn check_hooks(parsed: &ParsedManifests) -> Vec<Finding> {
    let finding = |manifest: &crate::text::manifest::Manifest| {
        let events = hook_events(&manifest.object);
        if events.is_empty() {
            return None;
        }
        let name = manifest.object_ref();
        let message =
            format!("{name} is a hook of the chart ({}), which is not supported yet.", events.join(", "));
        let hint = "Turn it off by a value of the chart, often named hooks, admissionWebhooks or jobs, and do its work by an object of the workload.";
        let place = manifest.location_of("/metadata/annotations");
        Some(Finding::error("G118", message, hint).with_object(name.to_string()).with_location(Some(place)))
    };
    parsed.manifests.iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::manifest::parse;
    use crate::text::source_file::SourceFile;

    #[test]
    fn g118_every_hook_is_rejected_with_its_name_and_events() {
        let text = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/resource-policy: keep}}\n";
        let parsed = parse(&[SourceFile { name: "templates/a.yaml".into(), text: text.into() }]);
        let found = check_hooks(&parsed);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "Job migrate is a hook of the chart (pre-install, pre-upgrade), which is not supported yet."
        );
        assert_eq!(found[0].location.as_ref().map(|place| place.file.as_str()), Some("templates/a.yaml"));
    }
}
