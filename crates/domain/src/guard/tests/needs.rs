//! What a workload needs to start, and what is lost when it goes.

use super::*;

const CONFIG: &str = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\ndata: {mode: fast}\n";

fn env(from: &str) -> String {
    deployment(&format!("env: [{{name: A, valueFrom: {{{from}}}}}]"))
}

#[test]
fn g218_what_a_pod_refers_to_and_is_not_here_is_told() {
    let finding = one("G218", &env("configMapKeyRef: {name: cfg, key: mode}"));
    assert_eq!(
        finding.message,
        "Container \"web\" reads ConfigMap \"cfg\", which is not in this workload; without it on the cluster the pods of Deployment web/web can't start."
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.path, "/spec/template/spec/containers/0/env/0/valueFrom/configMapKeyRef");
    is_quiet("G218", &format!("{}{CONFIG}", env("configMapKeyRef: {name: cfg, key: mode}")));
    is_quiet("G218", &env("configMapKeyRef: {name: cfg, key: mode, optional: true}"));
    is_quiet("G218", &env("fieldRef: {fieldPath: metadata.name}"));
}

#[test]
fn g218_a_secret_that_is_kept_elsewhere_is_only_noted() {
    let secret = env("secretKeyRef: {name: db, key: url}");
    assert_eq!(one("G218", &secret).severity, Severity::Note);
    let sealed = format!(
        "{secret}---\napiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {{name: db}}\n"
    );
    is_quiet("G218", &sealed);
    let certificate = format!(
        "{secret}---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{name: x}}\nspec: {{secretName: db}}\n"
    );
    is_quiet("G218", &certificate);
}

#[test]
fn g218_a_key_that_is_not_in_it_is_told_with_the_one_that_was_meant() {
    let finding = one("G218", &format!("{}{CONFIG}", env("configMapKeyRef: {name: cfg, key: mod}")));
    assert_eq!(
        finding.message,
        "Container \"web\" reads key \"mod\" of ConfigMap \"cfg\", which has no such key; the pods of Deployment web/web can't start."
    );
    assert_eq!(finding.hint, "Did you mean \"mode\"?");
}

#[test]
fn g218_volumes_accounts_and_whole_environments_count_too_and_once() {
    for (pod, kind) in [
        ("volumes: [{name: v, configMap: {name: cfx}}]", "ConfigMap"),
        ("volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]", "PersistentVolumeClaim"),
        ("volumes: [{name: v, projected: {sources: [{configMap: {name: cfx}}]}}]", "ConfigMap"),
        ("serviceAccountName: robot", "ServiceAccount"),
    ] {
        assert!(one("G218", &deployment_with("", pod, "")).message.contains(kind), "{pod}");
    }
    let twice = "envFrom: [{configMapRef: {name: cfx}}, {configMapRef: {name: cfx}}]";
    assert_eq!(of("G218", &deployment(twice)).len(), 1);
    is_quiet("G218", &deployment_with("", "serviceAccountName: default", ""));
    is_quiet("G218", &deployment_with("", "volumes: [{name: v, configMap: {name: kube-root-ca.crt}}]", ""));
}

#[test]
fn g218_a_stateful_set_makes_the_claims_of_its_templates() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec:\n      containers: [{name: db, image: 'a:1'}]\n      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n";
    one("G218", set);
    is_quiet("G218", &format!("{set}  volumeClaimTemplates: [{{metadata: {{name: data}}}}]\n"));
}

const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 40Gi}}}\n";

#[test]
fn g516_data_that_goes_with_the_workload_is_told() {
    let finding = one("G516", CLAIM);
    assert_eq!(
        finding.message,
        "When this workload leaves a cluster, PersistentVolumeClaim web/data (40 GiB) is deleted there with all that is in it."
    );
    assert!(finding.hint.contains("selectivelyOrphan"));
    let set = |when: &str| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db}}\nspec:\n  persistentVolumeClaimRetentionPolicy: {{whenDeleted: {when}}}\n  volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{resources: {{requests: {{storage: 1Gi}}}}}}}}]\n"
        )
    };
    assert!(one("G516", &set("Delete")).message.contains("takes its claims \"data\" (1 GiB) with it"));
    is_quiet("G516", &set("Retain"));
    let finalizer = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [example.com/hold]}\n";
    assert!(one("G516", finalizer).message.contains("can't be removed"));
}

fn spec_of(text: &str, prune: bool) -> (WorkloadSpec, Parsed) {
    let files = vec![SourceFile { name: "a.yaml".into(), text: text.into() }];
    let parsed = crate::manifest::parse(&files);
    let mut spec =
        WorkloadSpec { namespace: "web".into(), source: Source::Yaml { files }, ..WorkloadSpec::default() };
    spec.policies.prune = prune;
    (spec, parsed)
}

#[test]
fn g516_what_the_policy_keeps_is_not_lost() {
    let (mut spec, parsed) = spec_of(CLAIM, true);
    let losses = |spec: &WorkloadSpec| {
        check_static("shop", spec, &parsed).into_iter().filter(|finding| finding.code == "G516").count()
    };
    assert_eq!(losses(&spec), 1);
    spec.policies.deletion = crate::workload::DeletionPolicy::SelectivelyOrphan;
    spec.policies.orphan =
        vec![crate::overrides::ObjectSelector { kind: "PersistentVolumeClaim".into(), ..Default::default() }];
    assert_eq!(losses(&spec), 0);
}

fn step(before: &str, now: &str, prune: bool) -> Vec<Finding> {
    let ((a, b), (c, d)) = (spec_of(before, prune), spec_of(now, prune));
    check_change((&a, &b), (&c, &d))
}

#[test]
fn g516_data_that_a_revision_leaves_out_is_told_before_it_is_pruned() {
    let both = format!("{CLAIM}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n");
    let only = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let findings = step(&both, only, true);
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!(finding.code, "G516");
    assert_eq!(
        finding.message,
        "PersistentVolumeClaim web/data is in the published revision and no longer in this one: publishing deletes it with all its data."
    );
    assert_eq!(step(&both, only, false), []);
    assert_eq!(step(only, &both, true), []);
    assert_eq!(step(&both, CLAIM, true), [], "a ConfigMap can be made again");
}

#[test]
fn g213_ten_times_as_many_replicas_are_told() {
    let with = |replicas: &str| deployment_with(replicas, "", "");
    let findings = step(&with("replicas: 30"), &with("replicas: 300"), true);
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!(finding.message, "Deployment web/web goes from 30 to 300 replicas.");
    assert_eq!((finding.code.as_str(), finding.severity), ("G213", Severity::Warning));
    assert_eq!(step(&with("replicas: 30"), &with("replicas: 299"), true), []);
    assert_eq!(step(&with("replicas: 3"), &with("replicas: 100"), true), []);
    assert_eq!(step("", &with("replicas: 300"), true), []);
}
