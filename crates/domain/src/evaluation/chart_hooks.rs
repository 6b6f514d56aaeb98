//! Hooks of charts that do not run (G118).

use crate::model::chart_hook::{ChartHook, HookEvent, hook_events};
use crate::text::finding::Finding;
use crate::text::manifest::{Manifest, ParsedManifests, json_size};

/// Most bytes of the hooks for a removal: they are part of the record of the release on its cluster.
const MAX_REMOVAL_HOOK_BYTES: usize = 128 << 10;
/// Events of a rollback of Helm. A rollback of Flotilla publishes a revision, so the hooks of an upgrade run.
const ROLLBACK_EVENTS: [&str; 2] = ["pre-rollback", "post-rollback"];
/// Events of a test of the chart.
const TEST_EVENTS: [&str; 3] = ["test", "test-success", "test-failure"];

/// G118: a finding for every hook in the manifests of a chart with an event that does not run. One that the chart may depend on
/// is an error, that of a rollback or a test a note.
pub fn check_hooks(parsed: &ParsedManifests) -> Vec<Finding> {
    let mut findings: Vec<Finding> = parsed.manifests.iter().filter_map(check_hook).collect();
    let is_stored = |manifest: &&Manifest| {
        !hook_events(&manifest.object).is_empty() && ChartHook::from_object(&manifest.object).is_for_removal()
    };
    let stored: Vec<&Manifest> = parsed.manifests.iter().filter(is_stored).collect();
    let secrets = stored.iter().filter(|manifest| manifest.object["kind"] == "Secret");
    findings.extend(secrets.map(|manifest| {
        let name = manifest.object_ref();
        let message = format!("{name} is a hook of the chart for the removal, and would be stored on the cluster where others can read it.");
        let hint = "Turn it off by a value of the chart, or make it an object that is not a hook.";
        Finding::error("G118", message, hint)
            .with_object(name.to_string())
            .with_location(Some(manifest.location_of("/metadata/annotations")))
    }));
    let bytes: usize = stored.iter().map(|manifest| json_size(&manifest.object)).sum();
    if bytes > MAX_REMOVAL_HOOK_BYTES {
        let message = format!(
            "The hooks of the chart for pre-delete and post-delete have {bytes} bytes; at most {MAX_REMOVAL_HOOK_BYTES} can be stored on a cluster."
        );
        findings.push(Finding::error(
            "G118",
            message,
            "Make them smaller, or turn them off by a value of the chart.",
        ));
    }
    findings
}

fn check_hook(manifest: &Manifest) -> Option<Finding> {
    let events = hook_events(&manifest.object);
    let (harmless, others): (Vec<&str>, Vec<&str>) = events
        .iter()
        .map(String::as_str)
        .filter(|event| event.parse::<HookEvent>().is_err())
        .partition(|event| ROLLBACK_EVENTS.contains(event) || TEST_EVENTS.contains(event));
    let name = manifest.object_ref();
    let finding = if !others.is_empty() {
        let message =
            format!("{name} is a hook of the chart for {}, which is not supported.", others.join(", "));
        let hint = "Turn it off by a value of the chart, often named hooks, and do its work by an object of the workload or by hand.";
        Finding::error("G118", message, hint)
    } else if harmless.len() == events.len() && !events.is_empty() {
        let message =
            format!("{name} is a hook of the chart for {}. It is not applied.", harmless.join(", "));
        let hint = "Nothing to do: a rollback publishes a revision and runs the hooks of an upgrade; tests are run by hand.";
        Finding::note("G118", message, hint)
    } else {
        return None;
    };
    let place = manifest.location_of("/metadata/annotations");
    Some(finding.with_object(name.to_string()).with_location(Some(place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::finding::Severity;
    use crate::text::manifest::parse;
    use crate::text::source_file::SourceFile;

    fn check(events: &str) -> Vec<Finding> {
        let text = format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n    helm.sh/hook: {events}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, annotations: {{helm.sh/resource-policy: keep}}}}\n"
        );
        check_hooks(&parse(&[SourceFile { name: "templates/a.yaml".into(), text }]))
    }

    #[test]
    fn g118_a_hook_with_an_event_that_never_runs_is_rejected_with_its_name_and_events() {
        let found = check("post-install,pre-delete,crd-install,pre-sync");
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].severity, found[0].message.as_str()),
            (
                Severity::Error,
                "Job migrate is a hook of the chart for crd-install, pre-sync, which is not supported."
            )
        );
        assert_eq!(found[0].location.as_ref().map(|place| place.file.as_str()), Some("templates/a.yaml"));
    }

    #[test]
    fn g118_a_hook_for_the_removal_is_no_secret_and_not_larger_than_the_record_allows() {
        let check = |kind: &str, bytes: usize| {
            let text = format!(
                "apiVersion: v1\nkind: {kind}\nmetadata: {{name: a, annotations: {{helm.sh/hook: pre-delete}}}}\nstringData: {{a: {}}}\n",
                "x".repeat(bytes)
            );
            check_hooks(&parse(&[SourceFile { name: "templates/a.yaml".into(), text }]))
        };
        assert!(check("Secret", 1)[0].message.contains("where others can read it"));
        assert_eq!(check("ConfigMap", 1), []);
        assert!(check("ConfigMap", 200 << 10)[0].message.contains("at most 131072"));
    }

    #[test]
    fn g118_hooks_of_an_upgrade_are_accepted_and_one_only_for_a_rollback_is_named() {
        assert_eq!(check("pre-install,post-upgrade,pre-rollback"), []);
        assert_eq!(check("post-rollback")[0].severity, Severity::Note);
    }
}
