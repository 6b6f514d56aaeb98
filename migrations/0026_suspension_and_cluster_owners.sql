-- Suspensions: what users paused, and why (docs/suspension.md); owners of clusters (docs/incidents.md); reverts of single fields (docs/drift.md).

-- A workload, a workload on one cluster, or a cluster of which nothing is applied, reverted or deleted. One of `workload_id` and `cluster_id` may be
-- NULL: all clusters of the workload, all workloads of the cluster. `scope` names both, so that each is suspended once. Written and deleted by users;
-- cascades.
CREATE TABLE suspension (
    scope TEXT PRIMARY KEY,
    workload_id TEXT REFERENCES workload (id) ON DELETE CASCADE,
    cluster_id TEXT REFERENCES cluster (id) ON DELETE CASCADE,
    reason TEXT NOT NULL,
    suspended_by TEXT NOT NULL,
    suspended_at BIGINT NOT NULL
);
CREATE INDEX suspension_workload ON suspension (workload_id);
CREATE INDEX suspension_cluster ON suspension (cluster_id);

-- People and teams that own a cluster, as JSON; empty if nobody was named. Written by users.
ALTER TABLE cluster ADD COLUMN owners TEXT NOT NULL DEFAULT '[]';

-- Fields of an entry of the drift inbox that a user reverts, as long as the entry exists: `paths` is JSON. `error` is why the cluster did not revert
-- them, NULL until it has answered. Written by users and reports; deleted by the report of the revert; cascades.
CREATE TABLE field_revert (
    drift_id TEXT{{bytewise}} PRIMARY KEY REFERENCES drift_item (id) ON DELETE CASCADE,
    request_id TEXT NOT NULL,
    paths TEXT NOT NULL,
    requested_by TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    error TEXT
);
