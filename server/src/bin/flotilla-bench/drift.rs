//! B4: from the moment somebody changes an applied object until it is back as it was.

use std::time::{Duration, Instant};

use kubesim::Cluster;
use serde_json::{Value, json};

use crate::figures::{Figures, cpu_millis};
use crate::fleet::{Fleet, manifests};

const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
/// Between two looks at the simulated cluster; the figures are no finer than this.
const LOOK: Duration = Duration::from_micros(200);

/// What somebody does to an object, and how to see that it is undone.
struct Harm {
    name: &'static str,
    /// What the repair is compared with is a new object each time: the engine rightly pauses when one object is
    /// changed again and again.
    objects: String,
    act: fn(&Cluster, &str),
    healed: fn(&Value) -> bool,
}

pub async fn run(runs: usize) -> anyhow::Result<()> {
    let fleet = Fleet::start(1, false).await?;
    let harms = [
        Harm { name: "delete", objects: "gone".into(), act: delete, healed: |_| true },
        Harm {
            name: "edit spec",
            objects: "spec".into(),
            act: scale,
            healed: |d| d["spec"]["replicas"] == 1,
        },
        Harm { name: "edit image", objects: "image".into(), act: image, healed: has_our_image },
    ];
    for harm in &harms {
        let yaml: Vec<String> = (0..runs).map(|n| manifests(&format!("{}{n}", harm.objects))).collect();
        fleet.draft(&harm.objects, yaml.join("---\n")).await?;
        fleet.hub.workload_publish(&fleet.actor, &harm.objects, "", hub::Terms::default()).await?;
    }
    println!("drift, 1 cluster, {} applied objects", harms.len() * runs * 2);
    for harm in &harms {
        let (mut figures, cpu) = (Figures::default(), cpu_millis());
        for n in 0..runs {
            figures.add(heal(&fleet.clusters[0], harm, &format!("{}{n}", harm.objects)).await);
        }
        println!(
            "  {}   CPU per repair {:.2} ms",
            figures.line(harm.name),
            (cpu_millis() - cpu) / runs as f64
        );
    }
    fleet.end().await;
    Ok(())
}

async fn heal(cluster: &Cluster, harm: &Harm, name: &str) -> Duration {
    while cluster.get(DEPLOYMENT, ("bench", name)).is_none() {
        tokio::time::sleep(LOOK).await;
    }
    // Let the engine settle from the apply before it.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let before = cluster.get(DEPLOYMENT, ("bench", name)).map(|object| object["metadata"]["uid"].clone());
    let start = Instant::now();
    (harm.act)(cluster, name);
    loop {
        let now = cluster.get(DEPLOYMENT, ("bench", name));
        let new = now.as_ref().map(|object| object["metadata"]["uid"].clone());
        let back =
            now.is_some_and(|object| (harm.healed)(&object)) && (harm.name != "delete" || new != before);
        if back {
            return start.elapsed();
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn delete(cluster: &Cluster, name: &str) {
    // It is there: the caller has seen it.
    let _ = cluster.delete(DEPLOYMENT, ("bench", name));
}

fn scale(cluster: &Cluster, name: &str) {
    let _ = cluster
        .touch(DEPLOYMENT, ("bench", name), "kubectl-edit", |object| object["spec"]["replicas"] = json!(7));
}

fn image(cluster: &Cluster, name: &str) {
    let _ = cluster.touch(DEPLOYMENT, ("bench", name), "kubectl-edit", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/other:2.0");
    });
}

fn has_our_image(object: &Value) -> bool {
    object["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example/web:1.0"
}
