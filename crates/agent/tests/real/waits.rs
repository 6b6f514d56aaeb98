//! Exit codes of `flotilla publish --wait`: what is complete on its cluster ends the wait, and what a person holds there does not.

use domain::health::{Health, HealthStatus};
use domain::release::ReleaseState;

use crate::TestFleet;
use crate::test_hub::wait_until;

/// The exit code of a wait whose timeout expired.
const TIMED_OUT: i32 = 5;

/// A class whose volumes are provisioned for the first pod, and one whose volumes are provisioned at once; nothing provisions them.
const CLASSES: &str = "apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once}
provisioner: csi.example.com
volumeBindingMode: Immediate
";

/// A claim of this class, and a CronJob that uses it next month.
fn backup(name: &str, class: &str) -> String {
    format!(
        "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec: {{storageClassName: {class}, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 5Gi}}}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: {name}}}
spec:
  schedule: '0 3 1 * *'
  suspend: false
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {{name: dump, image: 'registry.example.com/dump:1.0.0', volumeMounts: [{{name: dumps, mountPath: /dumps}}]}}
          volumes: [{{name: dumps, persistentVolumeClaim: {{claimName: {name}}}}}]
"
    )
}

/// A claim that waits for its first consumer is complete; one that nothing provisions is not.
pub async fn c1_a_claim_without_a_consumer_ends_a_wait_and_one_without_a_volume_does_not(fleet: &TestFleet) {
    let (hub, member) = (&fleet.hub, &fleet.cluster_wide);
    member.apply_manifest(CLASSES).await;
    let folder = tempfile::tempdir().unwrap();
    let publish = async |name: &str, class: &str, timeout: &str| {
        let file = folder.path().join(format!("{name}.yaml"));
        std::fs::write(&file, backup(name, class)).unwrap();
        let file = file.display().to_string();
        hub.run_cli_ok(&["apply", "--name", name, "-f", &file, "-n", "shop", "--clusters", member.name])
            .await;
        hub.run_cli(&["publish", name, "--wait", "--timeout", timeout]).await
    };
    let late = publish("backup", "late", "5m").await;
    assert_eq!(late.exit_code, 0, "{}{}", late.stdout, late.stderr);
    assert_eq!(member.field("shop", "persistentvolumeclaim/backup", ".status.phase").await, "Pending");
    let target = hub.target_cluster("backup", member.name).await.unwrap();
    assert_eq!(target.state, ReleaseState::Healthy, "{target:#?}");

    let at_once = publish("backup-now", "at-once", "10s").await;
    assert_eq!(at_once.exit_code, TIMED_OUT, "{}{}", at_once.stdout, at_once.stderr);
    let target = hub.target_cluster("backup-now", member.name).await.unwrap();
    assert_eq!(target.health.status, HealthStatus::Progressing, "{target:#?}");
}

fn web(version: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: held}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: held}}}}
  template:
    metadata: {{labels: {{app: held}}}}
    spec:
      containers: [{{name: web, image: 'docker.io/library/nginx:{version}'}}]
"
    )
}

/// The definition of a workload of one file that goes to the canary first.
fn in_two_waves(name: &str, canary: &str, rest: &str) -> String {
    format!(
        "name: {name}\nnamespace: shop\nclusters: [{canary}, {rest}]\npayload: ./{name}.yaml\nrollout:\n  waves:\n  \
         - {{name: canary, target: {{clusters: [{canary}]}}}}\n  - {{name: rest}}\n"
    )
}

const ASLEEP: &str = "apiVersion: batch/v1
kind: CronJob
metadata: {name: asleep}
spec:
  schedule: '0 3 1 * *'
  suspend: true
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: dump, image: 'registry.example.com/dump:1.0.0'}]
";

/// A CronJob that its own manifest suspends is what was published: it opens the next wave and ends the wait.
pub async fn s2_2_a_cron_job_that_its_own_manifest_suspends_holds_no_wave(fleet: &TestFleet) {
    let (hub, canary, rest) = (&fleet.hub, &fleet.namespaced, &fleet.cluster_wide);
    let folder = tempfile::tempdir().unwrap();
    let definition = folder.path().join("flotilla.yaml");
    std::fs::write(&definition, in_two_waves("asleep", canary.name, rest.name)).unwrap();
    std::fs::write(folder.path().join("asleep.yaml"), ASLEEP).unwrap();
    hub.run_cli_ok(&["apply", "-f", &definition.display().to_string()]).await;
    let published = hub.run_cli(&["publish", "asleep", "--wait", "--timeout", "5m"]).await;
    assert_eq!(published.exit_code, 0, "{}{}", published.stdout, published.stderr);
    for member in [canary, rest] {
        let target = hub.target_cluster("asleep", member.name).await.unwrap();
        assert_eq!(target.state, ReleaseState::Suspended, "{target:#?}");
        assert_eq!(member.field("shop", "cronjob/asleep", ".spec.suspend").await, "true");
    }
}

/// A Deployment that a person paused on the canary runs its former revision: the other cluster retains it too, and the wait does
/// not end with success before somebody resumes it.
pub async fn s2_2_a_wait_goes_on_while_the_deployment_of_a_canary_is_paused_by_hand(fleet: &TestFleet) {
    let (hub, canary, rest) = (&fleet.hub, &fleet.namespaced, &fleet.cluster_wide);
    let folder = tempfile::tempdir().unwrap();
    let (definition, manifest) = (folder.path().join("flotilla.yaml"), folder.path().join("held.yaml"));
    std::fs::write(&definition, in_two_waves("held", canary.name, rest.name)).unwrap();
    let definition = definition.display().to_string();
    let publish = async |version: &str, timeout: &str| {
        std::fs::write(&manifest, web(version)).unwrap();
        hub.run_cli_ok(&["apply", "-f", &definition]).await;
        hub.run_cli(&["publish", "held", "--wait", "--timeout", timeout]).await
    };
    let first = publish("1.29.3", "5m").await;
    assert_eq!(first.exit_code, 0, "{}{}", first.stdout, first.stderr);

    canary.kubectl(&["-n", "shop", "rollout", "pause", "deployment/held"]).await;
    let paused = publish("1.29.4", "45s").await;
    assert_eq!(paused.exit_code, TIMED_OUT, "{}{}", paused.stdout, paused.stderr);
    let (_, last) = paused.stderr.split_once("timed out after").unwrap();
    for expected in [canary.name, "Deployment shop/held", "is paused", "kubectl"] {
        assert!(last.contains(expected), "{expected} is missing: {}", paused.stderr);
    }
    let target = async || hub.target_cluster("held", canary.name).await;
    let what = || async { format!("the pause is not reported: {:#?}", target().await) };
    let is_held = |health: &Health| health.reason == "HeldOutsideManifest";
    wait_until(what, async || target().await.is_some_and(|target| is_held(&target.health))).await;
    let image = ".spec.template.spec.containers[0].image";
    assert!(
        rest.field("shop", "deployment/held", image).await.ends_with(":1.29.3"),
        "the next wave is closed"
    );

    canary.kubectl(&["-n", "shop", "rollout", "resume", "deployment/held"]).await;
    let current = async || rest.field("shop", "deployment/held", image).await;
    wait_until(&current, async || current().await.ends_with(":1.29.4")).await;
    hub.wait_for_state("held", &[canary.name, rest.name], ReleaseState::Healthy).await;
}

/// The same for a StatefulSet whose pods a person replaces one by one: its controller waits for nothing, but its pods are of the
/// former revision.
pub async fn s2_2_a_wait_goes_on_while_the_stateful_set_of_a_canary_updates_on_delete(fleet: &TestFleet) {
    let (hub, canary, rest) = (&fleet.hub, &fleet.namespaced, &fleet.cluster_wide);
    let folder = tempfile::tempdir().unwrap();
    let definition = folder.path().join("flotilla.yaml");
    std::fs::write(&definition, in_two_waves("stepwise", canary.name, rest.name)).unwrap();
    let definition = definition.display().to_string();
    let publish = async |version: &str, timeout: &str| {
        let text = web(version).replace("Deployment", "StatefulSet").replace("name: held", "name: stepwise");
        let text = text.replace("  replicas: 1\n", "  serviceName: stepwise\n  replicas: 1\n");
        std::fs::write(folder.path().join("stepwise.yaml"), text).unwrap();
        hub.run_cli_ok(&["apply", "-f", &definition]).await;
        hub.run_cli(&["publish", "stepwise", "--wait", "--timeout", timeout]).await
    };
    let first = publish("1.29.3", "5m").await;
    assert_eq!(first.exit_code, 0, "{}{}", first.stdout, first.stderr);

    let on_delete = r#"{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}"#;
    canary.kubectl(&["-n", "shop", "patch", "statefulset/stepwise", "--type=merge", "-p", on_delete]).await;
    let held = publish("1.29.4", "20s").await;
    assert_eq!(held.exit_code, TIMED_OUT, "{}{}", held.stdout, held.stderr);
    let target = async || hub.target_cluster("stepwise", canary.name).await;
    let what = || async { format!("the strategy is not reported: {:#?}", target().await) };
    let is_held = |health: &Health| health.reason == "HeldOutsideManifest";
    wait_until(what, async || target().await.is_some_and(|target| is_held(&target.health))).await;
    let image = ".spec.template.spec.containers[0].image";
    let current = async || rest.field("shop", "statefulset/stepwise", image).await;
    assert!(current().await.ends_with(":1.29.3"), "the next wave is closed");

    canary.kubectl(&["-n", "shop", "delete", "pod", "stepwise-0"]).await;
    wait_until(&current, async || current().await.ends_with(":1.29.4")).await;
    hub.wait_for_state("stepwise", &[canary.name, rest.name], ReleaseState::Healthy).await;
}

/// Publishes a second revision while a person holds the first one on the canary, and resumes it.
async fn assert_held_by_hand(
    fleet: &TestFleet,
    (kind, name): (&str, &str),
    manifest: impl Fn(&str) -> String,
    (hold, resume): (&str, &str),
) {
    let (hub, canary, rest) = (&fleet.hub, &fleet.namespaced, &fleet.cluster_wide);
    let folder = tempfile::tempdir().unwrap();
    let definition = folder.path().join("flotilla.yaml");
    std::fs::write(&definition, in_two_waves(name, canary.name, rest.name)).unwrap();
    let definition = definition.display().to_string();
    let publish = async |version: &str, timeout: &str| {
        std::fs::write(folder.path().join(format!("{name}.yaml")), manifest(version)).unwrap();
        hub.run_cli_ok(&["apply", "-f", &definition]).await;
        hub.run_cli(&["publish", name, "--wait", "--timeout", timeout]).await
    };
    let first = publish("1.29.3", "5m").await;
    assert_eq!(first.exit_code, 0, "{name}: {}{}", first.stdout, first.stderr);

    let object = format!("{kind}/{name}");
    let patch = async |patch: &str| {
        canary.kubectl(&["-n", "shop", "patch", &object, "--type=merge", "-p", patch]).await
    };
    patch(hold).await;
    let held = publish("1.29.4", "20s").await;
    assert_eq!(held.exit_code, TIMED_OUT, "{name}: {}{}", held.stdout, held.stderr);
    let target = async || hub.target_cluster(name, canary.name).await;
    let what = || async { format!("it is not reported that it is held: {:#?}", target().await) };
    let is_held = |health: &Health| health.reason == "HeldOutsideManifest";
    wait_until(what, async || target().await.is_some_and(|target| is_held(&target.health))).await;
    let image = ".spec.template.spec.containers[0].image";
    let current = async || rest.field("shop", &object, image).await;
    assert!(current().await.ends_with(":1.29.3"), "{name}: the next wave is closed");

    patch(resume).await;
    wait_until(&current, async || current().await.ends_with(":1.29.4")).await;
    hub.wait_for_state(name, &[canary.name, rest.name], ReleaseState::Healthy).await;
}

/// The same for a StatefulSet with a partition and a DaemonSet that updates on delete.
pub async fn s2_2_a_wait_goes_on_while_a_partition_or_an_update_on_delete_holds_the_pods_of_a_canary(
    fleet: &TestFleet,
) {
    let partitioned = |version: &str| {
        let text = web(version).replace("Deployment", "StatefulSet").replace("held", "partitioned");
        text.replace("  replicas: 1\n", "  serviceName: partitioned\n  replicas: 1\n")
    };
    let per_node = |version: &str| {
        let text = web(version).replace("Deployment", "DaemonSet").replace("held", "per-node");
        text.replace("  replicas: 1\n", "")
    };
    let partition = (
        r#"{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}}}"#,
        r#"{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}}}"#,
    );
    let on_delete = (
        r#"{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}"#,
        r#"{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}}}}"#,
    );
    let first = assert_held_by_hand(fleet, ("statefulset", "partitioned"), partitioned, partition);
    let second = assert_held_by_hand(fleet, ("daemonset", "per-node"), per_node, on_delete);
    tokio::join!(Box::pin(first), Box::pin(second));
}
