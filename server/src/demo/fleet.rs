//! The demo's clusters: five in two regions with labels for region, environment and tier, one with periodic outages.

use std::time::Duration;

use domain::cluster::ClusterKind;
use domain::labels::Labels;
use hub::NewCluster;
use kubesim::{SimCluster, SimOptions};

use super::snapshots::SnapshotFolder;

/// One cluster of the demo.
#[derive(Debug, Clone, Copy)]
pub struct DemoCluster {
    /// Its name.
    pub name: &'static str,
    region: &'static str,
    env: &'static str,
    tier: &'static str,
    version: &'static str,
    nodes: u32,
    /// Whether it has periodic outages.
    pub has_outages: bool,
}

const FLEET: [DemoCluster; 5] = [
    DemoCluster {
        name: "eu-west-1",
        region: "eu-west",
        env: "prod",
        tier: "gold",
        version: "v1.33.4",
        nodes: 6,
        has_outages: false,
    },
    DemoCluster {
        name: "eu-west-2",
        region: "eu-west",
        env: "prod",
        tier: "silver",
        version: "v1.33.4",
        nodes: 4,
        has_outages: false,
    },
    DemoCluster {
        name: "eu-west-3",
        region: "eu-west",
        env: "staging",
        tier: "silver",
        version: "v1.33.1",
        nodes: 3,
        has_outages: false,
    },
    DemoCluster {
        name: "us-east-1",
        region: "us-east",
        env: "prod",
        tier: "gold",
        version: "v1.32.8",
        nodes: 6,
        has_outages: false,
    },
    DemoCluster {
        name: "us-east-2",
        region: "us-east",
        env: "prod",
        tier: "silver",
        version: "v1.32.8",
        nodes: 3,
        has_outages: true,
    },
];

impl DemoCluster {
    /// Its labels.
    pub fn labels(&self) -> Labels {
        let pairs = [("region", self.region), ("env", self.env), ("tier", self.tier)];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// The registration request.
    pub fn new_cluster(&self) -> NewCluster {
        NewCluster::new(self.name, ClusterKind::Simulated)
    }

    fn simulation_options(&self) -> SimOptions {
        SimOptions {
            name: self.name.to_owned(),
            version: self.version.to_owned(),
            nodes: self.nodes,
            node_labels: vec![("topology.kubernetes.io/region".to_owned(), self.region.to_owned())],
            // Long enough to be visible in the console.
            pod_start: Duration::from_millis(1_500),
            ..SimOptions::default()
        }
    }
}

/// Starts all clusters, from their snapshots if the folder has them.
pub fn start_clusters(snapshots: &SnapshotFolder) -> Vec<(DemoCluster, SimCluster)> {
    FLEET.iter().map(|member| (*member, start_cluster(snapshots, member))).collect()
}

fn start_cluster(snapshots: &SnapshotFolder, member: &DemoCluster) -> SimCluster {
    let cluster = match snapshots.load(member.name) {
        Some(snapshot) => SimCluster::restore(member.simulation_options(), &snapshot),
        None => SimCluster::new(member.simulation_options()),
    };
    cluster.faults().check_known_tags();
    cluster
}
