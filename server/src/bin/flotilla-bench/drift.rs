//! B4: from a change of an applied object until it is reverted.

use std::time::{Duration, Instant};

use kubesim::SimCluster;
use serde_json::{Value, json};

use crate::figures::{Durations, cpu_millis};
use crate::fleet::{BenchFleet, manifests};

const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
/// Polling interval of the simulated cluster; limits the resolution of the results.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// A change of an object, and how to detect that it is reverted.
struct DisturbanceCase {
    name: &'static str,
    /// Name prefix of the objects. Each run changes a new object, because the engine backs off when one object is changed
    /// repeatedly.
    objects: String,
    apply: fn(&SimCluster, &str),
    is_healed: fn(&Value) -> bool,
}

pub async fn run(runs: usize) -> anyhow::Result<()> {
    let fleet = BenchFleet::start(1, false).await?;
    let harms = [
        DisturbanceCase { name: "delete", objects: "gone".into(), apply: delete, is_healed: |_| true },
        DisturbanceCase {
            name: "edit spec",
            objects: "spec".into(),
            apply: scale,
            is_healed: |d| d["spec"]["replicas"] == 1,
        },
        DisturbanceCase {
            name: "edit image",
            objects: "image".into(),
            apply: change_image,
            is_healed: has_our_image,
        },
    ];
    for harm in &harms {
        let yaml: Vec<String> = (0..runs).map(|n| manifests(&format!("{}{n}", harm.objects))).collect();
        fleet.create_draft(&harm.objects, yaml.join("---\n")).await?;
        fleet.hub.publish_workload(&fleet.actor, &harm.objects, "", hub::PublishOptions::default()).await?;
    }
    println!("drift, 1 cluster, {} applied objects", harms.len() * runs * 2);
    for harm in &harms {
        let (mut figures, cpu) = (Durations::default(), cpu_millis());
        for n in 0..runs {
            figures.add(measure_repair(&fleet.clusters[0], harm, &format!("{}{n}", harm.objects)).await);
        }
        println!(
            "  {}   CPU per repair {:.2} ms",
            figures.summary_line(harm.name),
            (cpu_millis() - cpu) / runs as f64
        );
    }
    fleet.stop().await;
    Ok(())
}

async fn measure_repair(cluster: &SimCluster, harm: &DisturbanceCase, name: &str) -> Duration {
    while cluster.get(DEPLOYMENT, ("bench", name)).is_none() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    // The engine finishes the previous apply.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let before = cluster.get(DEPLOYMENT, ("bench", name)).map(|object| object["metadata"]["uid"].clone());
    let start = Instant::now();
    (harm.apply)(cluster, name);
    loop {
        let now = cluster.get(DEPLOYMENT, ("bench", name));
        let new = now.as_ref().map(|object| object["metadata"]["uid"].clone());
        let back =
            now.is_some_and(|object| (harm.is_healed)(&object)) && (harm.name != "delete" || new != before);
        if back {
            return start.elapsed();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn delete(cluster: &SimCluster, name: &str) {
    // It exists: the caller has checked.
    let _ = cluster.delete(DEPLOYMENT, ("bench", name));
}

fn scale(cluster: &SimCluster, name: &str) {
    let _ = cluster
        .edit(DEPLOYMENT, ("bench", name), "kubectl-edit", |object| object["spec"]["replicas"] = json!(7));
}

fn change_image(cluster: &SimCluster, name: &str) {
    let _ = cluster.edit(DEPLOYMENT, ("bench", name), "kubectl-edit", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/other:2.0");
    });
}

fn has_our_image(object: &Value) -> bool {
    object["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/web:1.0"
}
