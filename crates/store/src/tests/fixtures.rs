//! Test rows.

use domain::cluster::{Cluster, ClusterKind, Connectivity};
use domain::health::Health;
use domain::labels::Labels;
use domain::release::{Release, RenderOutcome, StageName, StageState, SyncStatus};
use domain::report::{ReleaseReport, StageReport};
use domain::workload::{DeletionPolicy, Intent, Policies, Workload, WorkloadSpec};
use domain::{ClusterId, Digest, ProjectId, ReleaseId, Timestamp, WorkloadId};

use crate::{Store, cluster, project, release, workload};

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_763_665_200_000 + millis)
}

pub(super) fn project_id() -> ProjectId {
    ProjectId::from_parts(1, 1)
}

pub(super) fn cluster_id(n: u128) -> ClusterId {
    ClusterId::from_parts(2, n)
}

pub(super) fn workload_id(n: u128) -> WorkloadId {
    WorkloadId::from_parts(3, n)
}

pub(super) fn release_id(n: u128) -> ReleaseId {
    ReleaseId::from_parts(4, n)
}

pub(super) fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub(super) fn some_cluster(n: u128, name: &str) -> Cluster {
    Cluster {
        connectivity: Connectivity::Online,
        last_seen: Some(at(0)),
        ..Cluster::new(cluster_id(n), name, ClusterKind::Agent, at(0))
    }
}

pub(super) fn some_workload(n: u128, name: &str) -> Workload {
    Workload {
        id: workload_id(n),
        project: project_id(),
        name: name.to_owned(),
        labels: Labels::new(),
        owners: vec!["ana".to_owned()],
        draft: WorkloadSpec { namespace: "web".to_owned(), ..WorkloadSpec::default() },
        intent: Intent::Published,
        published: Some(1),
        draft_changed: false,
        created_by: "ana".to_owned(),
        created_at: at(0),
        updated_at: at(0),
        revision: 1,
    }
}

/// A release without reports, on a cluster that is online.
pub(super) fn some_release(n: u128, workload: u128, cluster: u128) -> Release {
    let mut release = Release::new(release_id(n), workload_id(workload), cluster_id(cluster), at(0));
    release.set_connectivity(Connectivity::Online, at(0));
    release.set_desired_revision(
        1,
        RenderOutcome::Bundle(Digest::compute(b"bundle")),
        Policies::default(),
        at(0),
    );
    release
}

/// The report of a cluster whose objects have this health.
pub(super) fn release_report(release: &Release, health: Health) -> ReleaseReport {
    let healthy = health == Health::healthy();
    let done = |name: &StageName| name.is_reported_by_agent() && (healthy || *name < StageName::Operational);
    let stages = StageName::ALL.iter().copied().filter(done);
    ReleaseReport {
        release: release.id(),
        generation: release.generation(),
        applied: release.released().cloned(),
        stages: stages.map(|name| StageReport { name, state: StageState::Done }).collect(),
        sync: SyncStatus::Synced,
        health,
        resources: Vec::new(),
        drift: Vec::new(),
        drift_omitted: 0,
        removed: false,
    }
}

/// Removes a release from its cluster, which reports that nothing is left to do.
pub(super) fn complete_removal(release: &mut Release, deletion: DeletionPolicy, at: Timestamp) {
    release.remove(deletion, "", at);
    let report = ReleaseReport { removed: true, ..release_report(release, Health::healthy()) };
    release.apply_report(&report, at).unwrap();
}

/// The project, clusters `c-001` … and workloads `w-001` …, without releases.
pub(super) async fn insert_fleet(store: &Store, clusters: u128, workloads: u128) {
    let mut tx = store.write().await.unwrap();
    project::ensure_default(&mut tx, project_id(), at(0)).await.unwrap();
    for n in 1..=clusters {
        cluster::insert(&mut tx, &some_cluster(n, &format!("c-{n:03}"))).await.unwrap();
    }
    for n in 1..=workloads {
        workload::insert(&mut tx, &some_workload(n, &format!("w-{n:03}"))).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// The fleet with every workload on every cluster; release `w * 1000 + c`.
pub(super) async fn insert_full_fleet(store: &Store, clusters: u128, workloads: u128) {
    insert_fleet(store, clusters, workloads).await;
    let mut tx = store.write().await.unwrap();
    for w in 1..=workloads {
        let all: Vec<Release> = (1..=clusters).map(|c| some_release(w * 1000 + c, w, c)).collect();
        release::insert_many(&mut tx, &all).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// A pseudo-random generator with a fixed seed, so that test runs are equal.
pub(super) struct SeededRng(pub(super) u64);

impl SeededRng {
    /// A number below `n`.
    pub(super) fn next_below(&mut self, n: u64) -> u64 {
        // Marsaglia's xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
