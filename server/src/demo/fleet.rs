//! The demo's clusters: five in two regions, three environments' worth of labels, one that is not to be relied on.

use std::path::Path;
use std::time::Duration;

use domain::cluster::ClusterKind;
use domain::labels::Labels;
use hub::NewCluster;
use kubesim::{Cluster, Options};

/// One cluster of the demo.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    region: &'static str,
    env: &'static str,
    tier: &'static str,
    version: &'static str,
    nodes: u32,
    /// Whether it goes offline now and then.
    pub flaky: bool,
}

const FLEET: [Member; 5] = [
    Member {
        name: "eu-west-1",
        region: "eu-west",
        env: "prod",
        tier: "gold",
        version: "v1.33.4",
        nodes: 6,
        flaky: false,
    },
    Member {
        name: "eu-west-2",
        region: "eu-west",
        env: "prod",
        tier: "silver",
        version: "v1.33.4",
        nodes: 4,
        flaky: false,
    },
    Member {
        name: "eu-west-3",
        region: "eu-west",
        env: "staging",
        tier: "silver",
        version: "v1.33.1",
        nodes: 3,
        flaky: false,
    },
    Member {
        name: "us-east-1",
        region: "us-east",
        env: "prod",
        tier: "gold",
        version: "v1.32.8",
        nodes: 6,
        flaky: false,
    },
    Member {
        name: "us-east-2",
        region: "us-east",
        env: "prod",
        tier: "silver",
        version: "v1.32.8",
        nodes: 3,
        flaky: true,
    },
];

impl Member {
    /// Its labels.
    pub fn labels(&self) -> Labels {
        let pairs = [("region", self.region), ("env", self.env), ("tier", self.tier)];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// What it takes to register it.
    pub fn new_cluster(&self) -> NewCluster {
        NewCluster::new(self.name, ClusterKind::Simulated)
    }

    fn options(&self) -> Options {
        Options {
            name: self.name.to_owned(),
            version: self.version.to_owned(),
            nodes: self.nodes,
            node_labels: vec![("topology.kubernetes.io/region".to_owned(), self.region.to_owned())],
            // Slow enough to be seen.
            pod_start: Duration::from_millis(1_500),
            ..Options::default()
        }
    }
}

/// Starts all clusters, as they were if their folder knows them.
///
/// # Errors
/// The folder can't be made.
pub fn start(folder: &Path) -> anyhow::Result<Vec<(Member, Cluster)>> {
    std::fs::create_dir_all(folder)?;
    Ok(FLEET.iter().map(|member| (*member, start_one(folder, member))).collect())
}

fn start_one(folder: &Path, member: &Member) -> Cluster {
    match super::keep::kept(folder, member.name) {
        Some(snapshot) => Cluster::restore(member.options(), &snapshot),
        None => Cluster::new(member.options()),
    }
}
