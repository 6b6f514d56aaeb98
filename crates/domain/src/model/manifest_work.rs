//! `ManifestWork` of Open Cluster Management as input: its manifests are the objects of the workload, and its options become
//! policies (S3-2, G120).
//!
//! The objects are unwrapped where manifests are read. The options are copied into policies that have their default value, when
//! a draft is stored; a policy that a user set differently stays, and a finding says so. Options in files of Git, an OCI artifact or a chart
//! are not copied, and a finding names them (docs/decisions/0024-fetched-files-set-no-policies.md).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::model::policy::Policies;
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;
use crate::text::manifest::envelope;
use crate::text::name_list::join_first;
use crate::text::source_file::SourceFile;
use crate::text::yaml_edit;

/// The options of a `ManifestWork`, as policies.
#[derive(Debug, Clone, Default, PartialEq)]
struct WorkOptions {
    /// Values of policies by name.
    policies: Map<String, Value>,
    /// Options without a policy, as sentences.
    unsupported: Vec<String>,
}

/// Copies the options of every `ManifestWork` in the source into the policies that have their default value.
pub fn adopt_policies(spec: &mut WorkloadSpec) {
    let (current, default) = (to_map(&spec.policies), to_map(&Policies::default()));
    let mut adopted = Map::new();
    for work in list_works(spec.source.files()) {
        let options = read_options(&work).policies;
        adopted.extend(options.into_iter().filter(|(name, _)| current.get(name) == default.get(name)));
    }
    if let Ok(policies) = spec.policies.with_values(&adopted) {
        spec.policies = policies;
    }
}

/// G120: options of a `ManifestWork` that have no effect.
pub fn check(spec: &WorkloadSpec) -> Vec<Finding> {
    let current = to_map(&spec.policies);
    let mut findings = Vec::new();
    for work in list_works(spec.source.files()) {
        let name = work["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let options = read_options(&work);
        for (policy, value) in &options.policies {
            let set = current.get(policy).unwrap_or(&Value::Null);
            if set != value {
                let message = format!(
                    "ManifestWork {name:?} sets {policy} to {value}, and the policy of the workload is {set}."
                );
                let hint = "Change the policy, or remove the option from the ManifestWork.";
                findings
                    .push(Finding::warning("G120", message, hint).with_path(format!("/policies/{policy}")));
            }
        }
        let unsupported = options.unsupported.iter().map(|what| {
            let message = format!("ManifestWork {name:?}: {what}");
            Finding::warning("G120", message, "Remove it from the ManifestWork.").with_path("/source")
        });
        findings.extend(unsupported);
    }
    findings
}

/// G120: options of a `ManifestWork` in files that are read from Git or an OCI artifact, or are rendered from a chart, and differ from the
/// policies of the workload. They have no effect: what a commit or a chart contains does not change policies.
pub fn check_fetched(files: &[SourceFile], policies: &Policies) -> Option<Finding> {
    let current = to_map(policies);
    let (mut works, mut ignored) = (Vec::new(), BTreeSet::new());
    for work in list_works(files) {
        let WorkOptions { policies, unsupported } = read_options(&work);
        let before = ignored.len();
        let is_set = |name: &str, value: &Value| current.get(name).unwrap_or(&Value::Null) == value;
        let differing = policies.into_iter().filter(|(name, value)| !is_set(name, value));
        ignored.extend(differing.map(|(name, _)| name));
        ignored.extend(unsupported);
        if ignored.len() > before {
            works.push(work["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        }
    }
    if ignored.is_empty() {
        return None;
    }
    let ignored: Vec<String> = ignored.into_iter().collect();
    let message = format!(
        "Options of ManifestWork {} have no effect, because policies are not read from charts, Git or OCI artifacts: {}.",
        join_first(&works, NAMED),
        join_first(&ignored, NAMED)
    );
    let hint = "Set the policies of the workload.";
    Some(Finding::warning("G120", message, hint).with_path("/policies"))
}

/// Number of names in a message.
const NAMED: usize = 8;

/// The fields of policies by name, also those that serialization leaves out.
fn to_map(policies: &Policies) -> Map<String, Value> {
    match serde_json::to_value(policies) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn list_works(files: &[SourceFile]) -> Vec<Value> {
    let files = files.iter().filter(|file| file.text.contains(envelope::MANIFEST_WORK));
    let documents = files.flat_map(|file| yaml_edit::parse_documents(&file.text)).flatten();
    documents.filter(envelope::is_manifest_work).collect()
}

fn read_options(work: &Value) -> WorkOptions {
    let spec = &work["spec"];
    let mut options = WorkOptions::default();
    read_deletion(spec, &mut options);
    let account = &spec["executor"]["subject"]["serviceAccount"];
    if let (Some(namespace), Some(name)) = (account["namespace"].as_str(), account["name"].as_str()) {
        options.policies.insert("executor".to_owned(), format!("{namespace}/{name}").into());
    }
    let (mut update, mut ignore, mut feedback) = (Vec::new(), Vec::new(), Vec::new());
    for config in spec["manifestConfigs"].as_array().into_iter().flatten() {
        let object = select_object(work, &config["resourceIdentifier"], &mut options.unsupported);
        match config["updateStrategy"]["type"].as_str() {
            Some("CreateOnly") => update.push(json!({"object": object, "strategy": "createOnly"})),
            Some("ReadOnly") => update.push(json!({"object": object, "strategy": "readOnly"})),
            // Objects are applied by server-side apply.
            None | Some("Update" | "ServerSideApply") => {}
            Some(other) => options.unsupported.push(format!("The update strategy {other:?} is not known.")),
        }
        for rule in
            config["updateStrategy"]["serverSideApply"]["ignoreFields"].as_array().into_iter().flatten()
        {
            let when = if rule["condition"] == "OnSpokeChange" { "onChange" } else { "onPresence" };
            ignore.push(json!({"object": object, "when": when, "paths": rule["jsonPaths"]}));
        }
        let rules = config["feedbackRules"].as_array().into_iter().flatten();
        for path in rules.flat_map(|rule| rule["jsonPaths"].as_array().into_iter().flatten()) {
            feedback.push(json!({"object": object, "name": path["name"], "path": path["path"]}));
        }
        if config.get("conditionRules").is_some() {
            options.unsupported.push("conditionRules have no policy.".to_owned());
        }
    }
    for (name, rules) in [("update", update), ("ignore", ignore), ("feedback", feedback)] {
        if !rules.is_empty() {
            options.policies.insert(name.to_owned(), rules.into());
        }
    }
    options.normalize()
}

fn read_deletion(spec: &Value, options: &mut WorkOptions) {
    let deletion = &spec["deleteOption"];
    match deletion["propagationPolicy"].as_str() {
        Some("Orphan") => drop(options.policies.insert("deletion".to_owned(), "orphan".into())),
        Some("SelectivelyOrphan") => {
            let rules = deletion["selectivelyOrphans"]["orphaningRules"].as_array().into_iter().flatten();
            let work = json!({"spec": spec});
            let objects: Vec<Value> =
                rules.map(|rule| select_object(&work, rule, &mut options.unsupported)).collect();
            options.policies.insert("deletion".to_owned(), "selectivelyOrphan".into());
            options.policies.insert("orphan".to_owned(), objects.into());
        }
        None | Some("Foreground") => {}
        Some(other) => options.unsupported.push(format!("The propagation policy {other:?} is not known.")),
    }
    if let Some(seconds) = deletion["ttlSecondsAfterFinished"].as_u64() {
        options.policies.insert("ttlSecondsAfterFinished".to_owned(), seconds.into());
    }
}

/// The selector of an object that is named by its resource. The kind is that of the manifest with this resource.
fn select_object(work: &Value, identifier: &Value, unsupported: &mut Vec<String>) -> Value {
    let text = |field: &str| identifier[field].as_str().unwrap_or_default();
    let resource = text("resource");
    let manifests = work["spec"]["workload"]["manifests"].as_array().into_iter().flatten();
    let mut kinds = manifests.filter_map(|manifest| manifest["kind"].as_str());
    let kind = kinds.find(|kind| is_resource_of(resource, kind)).unwrap_or_else(|| {
        unsupported.push(format!("None of its manifests is one of the {resource:?} that an option names."));
        // Selects nothing, rather than objects that the option does not name.
        resource
    });
    json!({"kind": kind, "name": text("name"), "namespace": text("namespace")})
}

/// Whether this is the plural name of the kind, as the API machinery of Kubernetes guesses it.
fn is_resource_of(resource: &str, kind: &str) -> bool {
    let lower = kind.to_lowercase();
    let plural = if lower.ends_with(['s', 'x', 'z']) || lower.ends_with("ch") || lower.ends_with("sh") {
        format!("{lower}es")
    } else if let Some(stem) =
        lower.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']))
    {
        format!("{stem}ies")
    } else {
        format!("{lower}s")
    };
    plural == resource
}

impl WorkOptions {
    /// The policies in the form in which they are stored; one that the workload can't have is unsupported.
    fn normalize(mut self) -> Self {
        let mut normal = Map::new();
        for (name, value) in std::mem::take(&mut self.policies) {
            let one = Map::from_iter([(name.clone(), value)]);
            match Policies::default().with_values(&one) {
                Ok(policies) => normal.extend(to_map(&policies).remove(&name).map(|value| (name, value))),
                Err(why) => self.unsupported.push(format!("{why}.")),
            }
        }
        self.policies = normal;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::policy::{DeletionPolicy, UpdateStrategy};
    use crate::model::source::Source;

    const WORK: &str = "apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: shop, namespace: cluster1}
spec:
  deleteOption:
    propagationPolicy: SelectivelyOrphan
    selectivelyOrphans:
      orphaningRules: [{group: '', resource: configmaps, namespace: shop, name: settings}]
  executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: shop, name: deployer}}}
  manifestConfigs:
    - resourceIdentifier: {group: apps, resource: deployments, namespace: shop, name: web}
      updateStrategy: {type: CreateOnly}
      feedbackRules:
        - {type: JSONPaths, jsonPaths: [{name: ready, path: .status.readyReplicas}]}
  workload:
    manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}
      - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}
";

    fn spec(text: &str) -> WorkloadSpec {
        let file = SourceFile { name: "work.yaml".to_owned(), text: text.to_owned() };
        WorkloadSpec { source: Source::Yaml { files: vec![file] }, ..WorkloadSpec::default() }
    }

    #[test]
    fn s3_2_the_options_of_a_manifest_work_become_policies() {
        let mut spec = spec(WORK);
        adopt_policies(&mut spec);
        let policies = &spec.policies;
        assert_eq!(
            (policies.deletion, policies.executor.as_str()),
            (DeletionPolicy::SelectivelyOrphan, "shop/deployer")
        );
        assert_eq!(
            (policies.orphan[0].kind.as_str(), policies.orphan[0].name.as_str()),
            ("ConfigMap", "settings")
        );
        assert_eq!(
            (policies.update[0].object.kind.as_str(), policies.update[0].strategy),
            ("Deployment", UpdateStrategy::CreateOnly)
        );
        assert_eq!(
            (policies.feedback[0].name.as_str(), policies.feedback[0].path.as_str()),
            ("ready", ".status.readyReplicas")
        );
        assert_eq!(check(&spec), []);
    }

    #[test]
    fn g120_a_policy_that_was_set_differently_stays_and_what_has_no_policy_is_named() {
        let mut own = spec(WORK);
        own.policies.deletion = DeletionPolicy::Orphan;
        adopt_policies(&mut own);
        assert_eq!(own.policies.deletion, DeletionPolicy::Orphan);
        let findings = check(&own);
        assert_eq!(
            (findings.len(), &*findings[0].code, &*findings[0].path),
            (1, "G120", "/policies/deletion")
        );

        let mut unknown = spec(&WORK.replace("CreateOnly", "Sometimes").replace("deployments", "gateways"));
        adopt_policies(&mut unknown);
        let messages: Vec<String> = check(&unknown).into_iter().map(|finding| finding.message).collect();
        assert!(
            messages.iter().any(|message| message.contains("\"Sometimes\" is not known")),
            "{messages:?}"
        );
        assert!(messages.iter().any(|message| message.contains("\"gateways\"")), "{messages:?}");
    }

    #[test]
    fn g120_options_in_fetched_files_are_named_unless_the_policies_are_the_same() {
        let mut set = spec(WORK);
        let files = set.source.files().to_vec();
        let finding = check_fetched(&files, &Policies::default()).unwrap();
        assert_eq!((&*finding.code, finding.is_blocking()), ("G120", false));
        for expected in ["shop", "deletion", "executor", "feedback", "orphan", "update"] {
            assert!(finding.message.contains(expected), "{expected}: {}", finding.message);
        }
        adopt_policies(&mut set);
        assert_eq!(check_fetched(&files, &set.policies), None);
    }
}
