//! Verbs and queries on clusters.

use domain::WorkloadId;
use domain::cluster::{Cluster, ClusterKind, ClusterSummary, DEFAULT_LEASE_SECONDS};
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::labels::Labels;
use domain::page::Page;
use domain::placement::PendingRemoval;
use domain::release::ReleaseView;
use store::Tx;

use crate::hub::CommitEffects;
use crate::workload::check_if_match;
use crate::{Actor, Error, Hub};

mod confirm_facts;
mod delete;
mod edit;
mod heartbeat;
mod helm_release;
mod preview;
mod register;
mod size;
mod view;

pub use preview::ClusterEditPreview;

/// The cluster with this name.
pub(crate) async fn load_cluster(tx: &mut Tx, name: &str) -> Result<Cluster, Error> {
    store::cluster::get_by_name(tx, name).await?.ok_or_else(|| Error::not_found("cluster", name))
}

/// A change of a cluster by a user: the cluster as it was read, with the transaction that stores the change.
struct ClusterChange {
    tx: Tx,
    before: Cluster,
}

impl ClusterChange {
    /// Reads the cluster to change in this transaction, which has to have the revision that the user has seen, if any.
    async fn begin(mut tx: Tx, name: &str, if_match: Option<i64>) -> Result<Self, Error> {
        let before = load_cluster(&mut tx, name).await?;
        check_if_match(before.revision, if_match)?;
        Ok(Self { tx, before })
    }

    /// Stores the changed cluster with the event; every published workload is placed again.
    async fn commit(
        self,
        hub: &Hub,
        actor: &Actor,
        mut cluster: Cluster,
        detail: EventDetail,
    ) -> Result<Cluster, Error> {
        let Self { mut tx, before } = self;
        cluster.revision += 1;
        if !store::cluster::update(&mut tx, &cluster, before.revision).await? {
            return Err(Error::RevisionConflict { current: cluster.revision });
        }
        if cluster.confirmed_facts != before.confirmed_facts {
            store::cluster::set_confirmed_facts(&mut tx, cluster.id, &cluster.confirmed_facts).await?;
        }
        let now = hub.clock().now();
        store::queue::PLACER.mark_all(&mut tx, now).await?;
        let subject = EventSubject::cluster(cluster.id, &cluster.name);
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        let effects = CommitEffects::with_event_for_placer(event).with_response(actor, 200, &cluster);
        hub.commit(tx, effects.with_etag(cluster.revision)).await?;
        Ok(cluster)
    }
}

/// A cluster with what happens on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterDetails {
    /// The cluster, with its facts.
    pub summary: ClusterSummary,
    /// One page of the releases on it, worst first.
    pub releases: Page<ReleaseView>,
    /// The workloads that are about to be removed from it.
    pub pending_removals: Vec<(WorkloadId, PendingRemoval)>,
    /// The first names of the cluster groups that it is in.
    pub groups: Vec<String>,
    /// Number of these groups.
    pub groups_total: u32,
}

/// A cluster to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCluster {
    /// Its name.
    pub name: String,
    /// How it is served.
    pub kind: ClusterKind,
    /// Initial labels; an already registered cluster keeps its own.
    pub labels: Labels,
    /// The lease: without a heartbeat for longer than this the cluster is late, in seconds.
    pub lease_seconds: u32,
}

impl NewCluster {
    /// A cluster with no labels and the default lease.
    pub fn new(name: &str, kind: ClusterKind) -> Self {
        Self { name: name.to_owned(), kind, labels: Labels::new(), lease_seconds: DEFAULT_LEASE_SECONDS }
    }
}
