//! Objects that pods need to start, and data that is lost on deletion.

use super::*;

const CONFIG: &str = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\ndata: {mode: fast}\n";

fn env(from: &str) -> String {
    deployment(&format!("env: [{{name: A, valueFrom: {{{from}}}}}]"))
}

#[test]
fn g218_a_missing_referenced_object_is_a_warning() {
    let finding = only_finding("G218", &env("configMapKeyRef: {name: cfg, key: mode}"));
    assert_eq!(
        finding.message,
        "Container \"web\" reads ConfigMap \"cfg\", which is not in this workload; without it on the cluster the pods of Deployment web/web can't start."
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.path, "/spec/template/spec/containers/0/env/0/valueFrom/configMapKeyRef");
    assert_no_finding("G218", &format!("{}{CONFIG}", env("configMapKeyRef: {name: cfg, key: mode}")));
    assert_no_finding("G218", &env("configMapKeyRef: {name: cfg, key: mode, optional: true}"));
    assert_no_finding("G218", &env("fieldRef: {fieldPath: metadata.name}"));
}

#[test]
fn g218_a_missing_secret_is_a_note() {
    let secret = env("secretKeyRef: {name: db, key: url}");
    assert_eq!(only_finding("G218", &secret).severity, Severity::Note);
    let sealed = format!(
        "{secret}---\napiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {{name: db}}\n"
    );
    assert_no_finding("G218", &sealed);
    let certificate = format!(
        "{secret}---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{name: x}}\nspec: {{secretName: db}}\n"
    );
    assert_no_finding("G218", &certificate);
}

#[test]
fn g218_a_missing_key_is_a_warning_with_the_nearest_key() {
    let finding = only_finding("G218", &format!("{}{CONFIG}", env("configMapKeyRef: {name: cfg, key: mod}")));
    assert_eq!(
        finding.message,
        "Container \"web\" reads key \"mod\" of ConfigMap \"cfg\", which has no such key; the pods of Deployment web/web can't start."
    );
    assert_eq!(finding.hint, "Did you mean \"mode\"?");
}

#[test]
fn g218_volumes_service_accounts_and_env_from_are_reported_once() {
    for (pod, kind) in [
        ("volumes: [{name: v, configMap: {name: cfx}}]", "ConfigMap"),
        ("volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]", "PersistentVolumeClaim"),
        ("volumes: [{name: v, projected: {sources: [{configMap: {name: cfx}}]}}]", "ConfigMap"),
        ("serviceAccountName: robot", "ServiceAccount"),
    ] {
        assert!(only_finding("G218", &deployment_with("", pod, "")).message.contains(kind), "{pod}");
    }
    let twice = "envFrom: [{configMapRef: {name: cfx}}, {configMapRef: {name: cfx}}]";
    assert_eq!(findings_with_code("G218", &deployment(twice)).len(), 1);
    assert_no_finding("G218", &deployment_with("", "serviceAccountName: default", ""));
    assert_no_finding(
        "G218",
        &deployment_with("", "volumes: [{name: v, configMap: {name: kube-root-ca.crt}}]", ""),
    );
}

#[test]
fn g218_a_stateful_set_creates_the_claims_of_its_templates() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec:\n      containers: [{name: db, image: 'a:1'}]\n      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n";
    only_finding("G218", set);
    assert_no_finding("G218", &format!("{set}  volumeClaimTemplates: [{{metadata: {{name: data}}}}]\n"));
}

const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 40Gi}}}\n";

#[test]
fn g516_data_that_is_deleted_with_the_workload_is_a_warning() {
    let finding = only_finding("G516", CLAIM);
    assert_eq!(
        finding.message,
        "When this workload is removed from a cluster, PersistentVolumeClaim web/data (40 GiB) is deleted there with all its data."
    );
    assert!(finding.hint.contains("selectivelyOrphan"));
    let set = |when: &str| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db}}\nspec:\n  persistentVolumeClaimRetentionPolicy: {{whenDeleted: {when}}}\n  volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{resources: {{requests: {{storage: 1Gi}}}}}}}}]\n"
        )
    };
    assert!(only_finding("G516", &set("Delete")).message.contains("deletes its claims \"data\" (1 GiB)"));
    assert_no_finding("G516", &set("Retain"));
    let finalizer = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [example.com/hold]}\n";
    assert!(only_finding("G516", finalizer).message.contains("can't be deleted"));
}

fn spec_of(text: &str, prune: bool) -> (WorkloadSpec, ParsedManifests) {
    let files = vec![SourceFile { name: "a.yaml".into(), text: text.into() }];
    let parsed = crate::text::manifest::parse(&files);
    let mut spec =
        WorkloadSpec { namespace: "web".into(), source: Source::Yaml { files }, ..WorkloadSpec::default() };
    spec.policies.prune = prune;
    (spec, parsed)
}

#[test]
fn g516_orphaned_objects_are_not_reported() {
    let (mut spec, parsed) = spec_of(CLAIM, true);
    let losses = |spec: &WorkloadSpec| {
        check_static("shop", spec, &parsed).into_iter().filter(|finding| finding.code == "G516").count()
    };
    assert_eq!(losses(&spec), 1);
    spec.policies.deletion = crate::model::workload::DeletionPolicy::SelectivelyOrphan;
    spec.policies.orphan = vec![crate::model::overrides::ObjectSelector {
        kind: "PersistentVolumeClaim".into(),
        ..Default::default()
    }];
    assert_eq!(losses(&spec), 0);
}

fn check_step(published: &str, draft: &str, prune: bool) -> Vec<Finding> {
    let ((a, b), (c, d)) = (spec_of(published, prune), spec_of(draft, prune));
    check_change((&a, &b), (&c, &d))
}

#[test]
fn g516_data_that_a_draft_would_prune_is_a_warning() {
    let both = format!("{CLAIM}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n");
    let only = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let findings = check_step(&both, only, true);
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!(finding.code, "G516");
    assert_eq!(
        finding.message,
        "PersistentVolumeClaim web/data is in the published revision and not in the draft: publishing deletes it with all its data."
    );
    assert_eq!(check_step(&both, only, false), []);
    assert_eq!(check_step(only, &both, true), []);
    assert_eq!(check_step(&both, CLAIM, true), [], "a ConfigMap has no data that is lost");
}

#[test]
fn g213_ten_times_the_published_replicas_are_a_warning() {
    let with = |replicas: &str| deployment_with(replicas, "", "");
    let findings = check_step(&with("replicas: 30"), &with("replicas: 300"), true);
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!(finding.message, "Deployment web/web goes from 30 to 300 replicas.");
    assert_eq!((finding.code.as_str(), finding.severity), ("G213", Severity::Warning));
    assert_eq!(check_step(&with("replicas: 30"), &with("replicas: 299"), true), []);
    assert_eq!(check_step(&with("replicas: 3"), &with("replicas: 100"), true), []);
    assert_eq!(check_step("", &with("replicas: 300"), true), []);
}
