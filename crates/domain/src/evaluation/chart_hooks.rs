//! Hooks of charts that do not run (G118), and parts of charts that policies leave out.

use crate::model::chart_hook::{ChartHook, HookEvent, TEST_EVENTS, hook_events};
use crate::model::chart_object::is_crd_file;
use crate::model::policy::Policies;
use crate::text::finding::Finding;
use crate::text::manifest::{Manifest, ParsedManifests, json_size};
use crate::text::name_list::join_first;

/// Most bytes of the hooks for a removal: they are part of the record of the release on its cluster.
const MAX_REMOVAL_HOOK_BYTES: usize = 128 << 10;
/// Events of a rollback of Helm. A rollback of Flotilla publishes a revision, so the hooks of an upgrade run.
const ROLLBACK_EVENTS: [&str; 2] = ["pre-rollback", "post-rollback"];
/// Most objects that a finding names.
const MAX_NAMED: usize = 10;

/// Removes the objects of a chart that the policies leave out, and hooks that never run, so that no other rule reports them. A
/// finding names them.
pub fn leave_out_parts(parsed: &mut ParsedManifests, policies: &Policies) -> Vec<Finding> {
    let mut findings = Vec::new();
    if policies.skip_crds {
        let crds = remove_manifests(parsed, |manifest| is_crd_file(&manifest.location.file));
        let hint = "Install them before, or remove the policy skipCrds.";
        findings.extend(left_out_finding("G412", "crds folder", "skipCrds", hint, &crds));
    }
    if policies.skip_hooks {
        let hooks = remove_manifests(parsed, |manifest| !hook_events(&manifest.object).is_empty());
        let hint = "Do their work by hand, or remove the policy skipHooks.";
        findings.extend(left_out_finding("G118", "hooks", "skipHooks", hint, &hooks));
    }
    findings.extend(parsed.manifests.iter().filter_map(check_unused_hook));
    remove_manifests(parsed, is_unused_hook);
    findings
}

fn remove_manifests(parsed: &mut ParsedManifests, is_removed: impl Fn(&Manifest) -> bool) -> Vec<Manifest> {
    let (removed, remaining) = std::mem::take(&mut parsed.manifests).into_iter().partition(is_removed);
    parsed.manifests = remaining;
    removed
}

/// A note that names the objects that a policy leaves out; `None` without any.
fn left_out_finding(
    code: &str,
    part: &str,
    policy: &str,
    hint: &str,
    objects: &[Manifest],
) -> Option<Finding> {
    let names: Vec<String> = objects.iter().map(|one| one.object_ref().to_string()).collect();
    if names.is_empty() {
        return None;
    }
    let names = join_first(&names, MAX_NAMED);
    let message = format!("The policy {policy} leaves out the {part} of the chart: {names}.");
    Some(Finding::note(code, message, hint))
}

/// Whether an object is a hook for nothing else than a rollback or a test.
fn is_unused_hook(manifest: &Manifest) -> bool {
    let events = hook_events(&manifest.object);
    let is_unused =
        |event: &String| ROLLBACK_EVENTS.contains(&event.as_str()) || TEST_EVENTS.contains(&event.as_str());
    !events.is_empty() && events.iter().all(is_unused)
}

/// G118: a note for a hook that is only for a rollback or a test.
fn check_unused_hook(manifest: &Manifest) -> Option<Finding> {
    if !is_unused_hook(manifest) {
        return None;
    }
    let (name, events) = (manifest.object_ref(), hook_events(&manifest.object).join(", "));
    let message = format!("{name} is a hook of the chart for {events}. It is not applied.");
    let hint = "Nothing to do: a rollback publishes a revision and runs the hooks of an upgrade; tests are run by hand.";
    let place = manifest.location_of("/metadata/annotations");
    Some(Finding::note("G118", message, hint).with_object(name.to_string()).with_location(Some(place)))
}

/// G118: a finding for every hook in the manifests of a chart with an event that does not exist, and for hooks of the removal that can't
/// be stored.
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
    let is_known = |event: &&str| {
        event.parse::<HookEvent>().is_ok() || ROLLBACK_EVENTS.contains(event) || TEST_EVENTS.contains(event)
    };
    let others: Vec<&str> = events.iter().map(String::as_str).filter(|event| !is_known(event)).collect();
    if others.is_empty() {
        return None;
    }
    let name = manifest.object_ref();
    let message = format!("{name} is a hook of the chart for {}, which is not supported.", others.join(", "));
    let hint = "Turn it off by a value of the chart, often named hooks, and do its work by an object of the workload or by hand.";
    let place = manifest.location_of("/metadata/annotations");
    Some(Finding::error("G118", message, hint).with_object(name.to_string()).with_location(Some(place)))
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
        let mut parsed = parse(&[SourceFile { name: "templates/a.yaml".into(), text }]);
        let mut found = leave_out_parts(&mut parsed, &Policies::default());
        found.extend(check_hooks(&parsed));
        found
    }

    #[test]
    fn policies_leave_out_hooks_and_definitions_and_name_them() {
        let file = |name: &str, text: &str| SourceFile { name: name.into(), text: text.into() };
        let hook = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, annotations: {helm.sh/hook: pre-sync}}\n";
        let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\n";
        let files = [
            file("templates/a.yaml", hook),
            file("crds/a.yaml", crd),
            file("templates/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
        ];
        let mut parsed = parse(&files);
        let policies = Policies { skip_hooks: true, skip_crds: true, ..Policies::default() };
        let found = leave_out_parts(&mut parsed, &policies);
        let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "The policy skipCrds leaves out the crds folder of the chart: CustomResourceDefinition a.example.com.",
                "The policy skipHooks leaves out the hooks of the chart: Job migrate."
            ]
        );
        assert!(found.iter().all(|finding| finding.severity == Severity::Note));
        assert_eq!(check_hooks(&parsed), []);
        let left: Vec<String> = parsed.manifests.iter().map(|one| one.object_ref().kind).collect();
        assert_eq!(left, ["ConfigMap"]);
        assert_eq!(leave_out_parts(&mut parsed, &policies), []);
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
        let tested = check("test");
        assert_eq!(
            (tested.len(), tested[0].message.as_str()),
            (1, "Job migrate is a hook of the chart for test. It is not applied.")
        );
    }
}
