-- Owners of workloads, incidents, channels and what is sent through them (docs/incidents.md).

-- The owners of a workload as a JSON list; empty if a server of the previous release created it, which means the user in `created_by`.
ALTER TABLE workload ADD COLUMN owners TEXT NOT NULL DEFAULT '[]';

-- One failure of a workload with one cause, over all its clusters. `cause`, `clusters` and `preceding_change` are JSON; `clusters` has those that
-- fail and those that recovered. Written by the loop `incidents`, acknowledged by users. It outlives its workload and is deleted by the
-- retention loop 90 days after it was closed.
CREATE TABLE incident (
    id TEXT{{bytewise}} PRIMARY KEY,
    project_id TEXT NOT NULL,
    workload_id TEXT NOT NULL,
    workload_name TEXT NOT NULL,
    cause_key TEXT NOT NULL,
    cause TEXT NOT NULL,
    clusters TEXT NOT NULL,
    preceding_change TEXT,
    opened_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    closed_at BIGINT,
    acknowledged_by TEXT,
    acknowledged_at BIGINT
);
CREATE UNIQUE INDEX incident_open ON incident (workload_id, cause_key) WHERE closed_at IS NULL;
CREATE INDEX incident_open_by_project ON incident (project_id, id) WHERE closed_at IS NULL;
CREATE INDEX incident_by_project ON incident (project_id, id);
CREATE INDEX incident_by_workload ON incident (workload_id, id);
CREATE INDEX incident_age ON incident (closed_at) WHERE closed_at IS NOT NULL;

-- A failure of one release that is not part of an incident yet, because it has not lasted long enough; `failure` is JSON. Written and deleted by
-- the loop `incidents`; cascades with the workload.
CREATE TABLE pending_failure (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    cluster_id TEXT NOT NULL,
    failure TEXT NOT NULL,
    PRIMARY KEY (workload_id, cluster_id)
);

-- The queue of the loop `incidents`, as `placer_queue`. `tracked` is 1 while the workload has a pending failure or an open incident: then every change of
-- the state of one of its releases is a mark, otherwise only a failure is.
CREATE TABLE incident_queue (
    workload_id TEXT PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
    dirty_epoch BIGINT NOT NULL,
    marked_at BIGINT NOT NULL,
    due_at BIGINT,
    claimed BIGINT NOT NULL,
    claim_epoch BIGINT NOT NULL,
    claimed_dirty_epoch BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    failure TEXT,
    tracked BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX incident_queue_due ON incident_queue (due_at, workload_id) WHERE due_at IS NOT NULL;
-- Existing workloads are examined once: they may fail already.
INSERT INTO incident_queue (workload_id, dirty_epoch, marked_at, due_at, claimed, claim_epoch, claimed_dirty_epoch, attempts)
SELECT id, 0, created_at, created_at, 0, 0, 0, 0 FROM workload;

-- The failing releases of one workload, and the changes of one cluster by users and of its version.
CREATE INDEX release_failing_by_workload ON release (workload_id) WHERE state_rank >= 16;
CREATE INDEX event_cluster_change ON event (cluster_id, seq) WHERE kind IN ('clusterEdited', 'clusterFacts');

-- Where messages about incidents are sent to. `target` (an address, which is a secret for some kinds) and `secret` (signs messages) are encrypted. `failures`
-- counts failures in a row; while `retry_at` is in the future nothing is sent. Created and deleted by users, updated by the loop `deliveries`.
CREATE TABLE channel (
    project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name TEXT NOT NULL{{bytewise}},
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    secret TEXT,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    last_error TEXT,
    retry_at BIGINT,
    delivered_at BIGINT,
    PRIMARY KEY (project_id, name)
);

-- Which incidents are sent to a channel: those of one workload, of the workloads with an owner, or of those that a label selector matches;
-- `scope` is JSON. Created and deleted by users; cascades with the channel.
CREATE TABLE subscription (
    id TEXT{{bytewise}} PRIMARY KEY,
    project_id TEXT NOT NULL,
    channel TEXT NOT NULL{{bytewise}},
    scope TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    FOREIGN KEY (project_id, channel) REFERENCES channel (project_id, name) ON DELETE CASCADE
);
CREATE INDEX subscription_by_channel ON subscription (project_id, channel);

-- A message about an incident for a channel: the outbox. Inserted in the transaction that changes the incident; sent by the loop `deliveries`; cascades
-- with incident and channel. `id` is the id of the message in every attempt. `message` is JSON. `due_at` is NULL once it was delivered, and the end of the lease
-- while it is sent; `claim_epoch` counts claims and fences them. Messages of an incident are sent to a channel in the order of `position`.
CREATE TABLE delivery (
    id TEXT{{bytewise}} PRIMARY KEY,
    project_id TEXT NOT NULL,
    incident_id TEXT NOT NULL REFERENCES incident (id) ON DELETE CASCADE,
    channel TEXT NOT NULL{{bytewise}},
    position BIGINT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    due_at BIGINT,
    claim_epoch BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    last_error TEXT,
    delivered_at BIGINT,
    FOREIGN KEY (project_id, channel) REFERENCES channel (project_id, name) ON DELETE CASCADE
);
CREATE INDEX delivery_by_incident ON delivery (incident_id, channel, position);
CREATE INDEX delivery_due ON delivery (due_at, id) WHERE due_at IS NOT NULL;
