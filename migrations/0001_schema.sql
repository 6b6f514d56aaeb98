-- The schema. Words in double braces differ per engine, see README.md beside this file.
--
-- Instants are BIGINT milliseconds since the epoch, flags are BIGINT 1 and 0, ids are ULIDs as TEXT, structures are
-- JSON as TEXT. A release's state and its rank are derived columns; the ranks are positions in
-- domain::release::ReleaseState::ALL. "Cascades" means: deleted by the database with the row that is referenced ON DELETE
-- CASCADE.

-- A project. Written when a hub starts (the default project); never deleted.
CREATE TABLE project (
    id TEXT PRIMARY KEY,
    name TEXT{{bytewise}} NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- --------------------------------------------------------------------------------------------------------------- users

-- A user who can sign in (`user` is a reserved word in PostgreSQL). Written by the first sign-in and at the start of a demo; never deleted.
CREATE TABLE user_account (
    id TEXT PRIMARY KEY,
    name TEXT{{bytewise}} NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- A session of a signed-in user; only the hash of its id is stored. Written by the server; deleted at sign-out, and
-- by the retention loop after it has expired.
CREATE TABLE session (
    id_hash TEXT PRIMARY KEY,
    data TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX session_expiry ON session (expires_at);

-- An API token of a user; only the hash of its secret is stored. Written and deleted by its user; `used_at` is
-- updated at most once a minute. Deleted by the retention loop 30 days after it has expired; cascades.
CREATE TABLE api_token (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    secret_sha256 TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT
);
CREATE INDEX api_token_by_user ON api_token (user_id, id);

-- A setting of the hub by name: so far the hash of the setup token. Written when a server without users starts; deleted by the first sign-in.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- A stored response, by the idempotency key of its request and the actor. Written in the transaction that executes the request; deleted by the retention loop
-- after a day. A large body is an artifact: `body` is then NULL, and `body_digest` is its digest.
CREATE TABLE idempotency_record (
    idempotency_key TEXT NOT NULL,
    actor TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    status BIGINT NOT NULL,
    body TEXT,
    body_digest TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (idempotency_key, actor)
);
CREATE INDEX idempotency_record_age ON idempotency_record (created_at);
CREATE INDEX idempotency_record_body ON idempotency_record (body_digest) WHERE body_digest IS NOT NULL;

-- ------------------------------------------------------------------------------------------------------------ clusters
-- The fields that users edit, the facts, the heartbeat and the version of the desired state are four rows, because
-- they are written by four parties at four rates.

-- A cluster, with the fields that users edit; `region` is copied from its labels. Written at its registration and by
-- users; deleted by users, after its releases. `resource_version` counts edits.
CREATE TABLE cluster (
    id TEXT PRIMARY KEY,
    name TEXT{{bytewise}} NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    region TEXT{{bytewise}} NOT NULL,
    labels TEXT NOT NULL,
    taints TEXT NOT NULL,
    schedulable BIGINT NOT NULL,
    lease_seconds BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    resource_version BIGINT NOT NULL
);

-- One label of a cluster, in addition to `cluster.labels`, for selectors. Replaced with the labels of the cluster; cascades.
CREATE TABLE cluster_label (
    owner_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner_id, name)
);
CREATE INDEX cluster_label_value ON cluster_label (name, value, owner_id);

-- The facts of a cluster. Inserted with the cluster, updated by reports of its agent; cascades. `apis` and `namespaces` (with their quotas) are long, so they
-- are read only where they are needed. `schema_digest` is the artifact with the structure of its API kinds, empty until the agent has reported one.
CREATE TABLE cluster_facts (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    facts TEXT NOT NULL,
    apis TEXT NOT NULL,
    namespaces TEXT NOT NULL,
    schema_digest TEXT NOT NULL DEFAULT ''
);
CREATE INDEX cluster_facts_schema ON cluster_facts (schema_digest);

-- The heartbeat of a cluster. Inserted with the cluster; updated by heartbeats and by the staleness loop (`connectivity`, `last_seen`) and by reports
-- (`incarnation`, `seq`: the position of the last accepted batch); cascades.
CREATE TABLE cluster_heartbeat (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    connectivity TEXT NOT NULL,
    last_seen BIGINT,
    -- Since when and why the API server does not respond to the agent; NULL while it responds.
    api_server_outage_since BIGINT,
    api_server_error TEXT NOT NULL,
    incarnation BIGINT NOT NULL,
    seq BIGINT NOT NULL
);
CREATE INDEX cluster_heartbeat_overdue ON cluster_heartbeat (connectivity, last_seen);

-- The version of the desired state of a cluster. Inserted with the cluster, incremented at the commit of every
-- transaction that changes its desired state; cascades.
CREATE TABLE cluster_desired_state (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    version BIGINT NOT NULL
);

-- A cluster group: a named set of clusters, by name or by label selector. Written by users; deleted by users while
-- no workload references it. `resource_version` counts edits.
CREATE TABLE cluster_group (
    name TEXT{{bytewise}} PRIMARY KEY,
    members TEXT NOT NULL,
    selector TEXT,
    resource_version BIGINT NOT NULL
);

-- --------------------------------------------------------------------------------------------------- joining of agents

-- A join token for agents; only the hash of its secret is stored. Written and revoked by users, `uses` is
-- incremented by registrations; deleted by the retention loop 30 days after it has expired.
CREATE TABLE join_token (
    id TEXT PRIMARY KEY,
    secret_sha256 TEXT NOT NULL,
    cluster_name TEXT,
    labels TEXT NOT NULL,
    auto_accept BIGINT NOT NULL,
    max_uses BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX join_token_expiry ON join_token (expires_at);

-- The request of one agent key to join under a name. Written when an agent registers and when a user or an
-- auto-accepting token decides; `cluster_id` is set when it is accepted. Deleted when a newer key of the same token
-- takes its name while it is pending, and by the retention loop after 30 days unless it is accepted; cascades.
CREATE TABLE registration (
    fingerprint TEXT PRIMARY KEY,
    token_id TEXT NOT NULL,
    name TEXT{{bytewise}} NOT NULL,
    state TEXT NOT NULL,
    csr TEXT NOT NULL,
    facts TEXT NOT NULL,
    labels TEXT NOT NULL,
    requested_at BIGINT NOT NULL,
    decided_by TEXT,
    decided_at BIGINT,
    cluster_id TEXT REFERENCES cluster (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX registration_pending ON registration (name) WHERE state = 'pending';
CREATE INDEX registration_by_cluster ON registration (cluster_id) WHERE cluster_id IS NOT NULL;

-- A certificate issued to an agent. Written when it is issued, and when it is revoked. A request of an agent is served only if its certificate is stored here
-- and not revoked. Deleted by the retention loop 30 days after it has expired; cascades.
CREATE TABLE agent_certificate (
    serial TEXT PRIMARY KEY,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    certificate TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    not_after BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX agent_certificate_by_cluster ON agent_certificate (cluster_id, not_after);

-- The join status of a cluster with an agent, from which the conditions Accepted and Joined are derived. Written
-- when it is accepted, when its agent connects with a new version, and when its certificates are revoked; cascades.
CREATE TABLE cluster_join (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    accepted_by TEXT NOT NULL,
    accepted_at BIGINT NOT NULL,
    joined_at BIGINT,
    agent_version TEXT NOT NULL,
    revoked_at BIGINT
);

-- ----------------------------------------------------------------------------------------------------------- workloads

-- A workload with its draft. Written by users; deleted by the placer once `intent` is deleting and no release is left on any cluster. `published_revision` is
-- the number of the published revision, `resource_version` counts edits.
CREATE TABLE workload (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES project (id),
    name TEXT{{bytewise}} NOT NULL,
    namespace TEXT NOT NULL,
    labels TEXT NOT NULL,
    intent TEXT NOT NULL,
    published_revision BIGINT,
    draft_changed BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    resource_version BIGINT NOT NULL,
    draft TEXT NOT NULL,
    UNIQUE (project_id, name)
);
CREATE INDEX workload_intent ON workload (intent, id);

-- One label of a workload, in addition to `workload.labels`, for selectors. Replaced with the labels of the workload; cascades.
CREATE TABLE workload_label (
    owner_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner_id, name)
);
CREATE INDEX workload_label_value ON workload_label (name, value, owner_id);

-- A published snapshot of a workload's draft, numbered from 1. Written by a publish, immutable; deleted by the
-- retention loop after 90 days unless it is one of the newest 100 or in use; cascades.
CREATE TABLE revision (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    author TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    spec TEXT NOT NULL,
    PRIMARY KEY (workload_id, number)
);
CREATE INDEX revision_age ON revision (created_at);

-- A cluster on which a user retains a workload although it no longer matches. Written by users, deleted by the next
-- publish of the workload; `revision` is the published one at that time. Cascades.
CREATE TABLE retained_cluster (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    retained_by TEXT NOT NULL,
    retained_at BIGINT NOT NULL,
    PRIMARY KEY (workload_id, cluster_id)
);
CREATE INDEX retained_cluster_by_cluster ON retained_cluster (cluster_id);

-- A recorded placement decision of a workload, without its pending removals. Written by the placer; those before the
-- last 50 of the workload are deleted by the next insert; cascades.
CREATE TABLE decision (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workload_id, number)
);

-- A cluster that runs a workload and no longer matches: the workload is removed from it after `remove_after`. `requested`
-- is 1 if a publish requested the removal, `waiting_for` is what it waited for in the last pass, the JSON of a
-- domain::placement::RemovalWait. Written and deleted by the placer with its decisions; cascades.
CREATE TABLE pending_removal (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    remove_after BIGINT NOT NULL,
    requested BIGINT NOT NULL,
    waiting_for TEXT,
    PRIMARY KEY (workload_id, cluster_id)
);
CREATE INDEX pending_removal_by_cluster ON pending_removal (cluster_id);

-- The placer's work queue, one row per workload. Inserted with the workload; marked by every transaction that requires a new placement, claimed and settled
-- by the placer; cascades. `due_at` is when the row may be claimed and, while `claimed` is 1, the end of the claim's lease; NULL when nothing is to do.
-- `dirty_epoch` counts marks, `claimed_dirty_epoch` is its value at the claim, `claim_epoch` counts claims and fences them. `attempts` counts failures in a
-- row and delays `due_at`, `failure` is the message of the last one. `placed_revision` is the revision that the placer has written to every selected cluster,
-- 0 before the first: until then its waves can't be counted, and its removals are those of a publish.
CREATE TABLE placer_queue (
    workload_id TEXT PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
    dirty_epoch BIGINT NOT NULL,
    marked_at BIGINT NOT NULL,
    due_at BIGINT,
    claimed BIGINT NOT NULL,
    claim_epoch BIGINT NOT NULL,
    claimed_dirty_epoch BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    failure TEXT,
    placed_revision BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX placer_queue_due ON placer_queue (due_at, workload_id) WHERE due_at IS NOT NULL;

-- ------------------------------------------------------------------------------------------------------------ releases

-- One workload on one cluster. Inserted by the placer; updated by the placer, the rollout loop, the staleness loop, reports and users; deleted with the
-- cluster by the hub; cascades with the workload. `desired`, `released` and `applied` are digests of bundles. `last_known_state` is `state` without
-- `connectivity`, so that a cluster that goes offline is one statement. `wave` is NULL if the revision has no waves, `gate` is the name of a
-- domain::release::Gate: Closed until the rollout admits the release, Aborted if the rollout was aborted before. `admitted_offline` is 1 while the cluster
-- has been offline since before the revision was released to it. `in_desired_state` is 1 while the release is part of the desired state of its cluster. Names
-- are immutable, and copied here so that every order of a page has an index.
CREATE TABLE release (
    id TEXT PRIMARY KEY,
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    cluster_id TEXT NOT NULL REFERENCES cluster (id),
    workload_name TEXT{{bytewise}} NOT NULL,
    cluster_name TEXT{{bytewise}} NOT NULL,
    revision BIGINT,
    wave BIGINT,
    gate TEXT NOT NULL,
    generation BIGINT NOT NULL,
    sync_nonce BIGINT NOT NULL,
    desired TEXT,
    released TEXT,
    released_revision BIGINT,
    applied TEXT,
    admitted_offline BIGINT NOT NULL,
    sync TEXT NOT NULL,
    health TEXT NOT NULL,
    connectivity TEXT NOT NULL,
    state TEXT NOT NULL,
    state_rank BIGINT NOT NULL,
    last_known_state TEXT NOT NULL,
    last_known_rank BIGINT NOT NULL,
    state_since BIGINT NOT NULL,
    reported_at BIGINT,
    in_desired_state BIGINT NOT NULL,
    message TEXT NOT NULL,
    goal TEXT NOT NULL,
    policies TEXT NOT NULL,
    health_detail TEXT NOT NULL,
    stages TEXT NOT NULL,
    UNIQUE (workload_id, cluster_id)
);
CREATE INDEX release_by_workload ON release (workload_id, state_rank DESC, cluster_name);
CREATE INDEX release_by_cluster ON release (cluster_id, state_rank DESC, workload_name);
CREATE INDEX release_in_desired_state ON release (cluster_id, id) WHERE in_desired_state = 1;
-- 16 is the rank of Blocked: it and all more severe states need attention.
CREATE INDEX release_failing ON release (state_rank DESC, state_since) WHERE state_rank >= 16;
CREATE INDEX release_desired ON release (desired) WHERE desired IS NOT NULL;
CREATE INDEX release_released ON release (released) WHERE released IS NOT NULL;
CREATE INDEX release_applied ON release (applied) WHERE applied IS NOT NULL;
CREATE INDEX release_by_wave ON release (workload_id, revision, wave, gate, state, connectivity, admitted_offline, state_since) WHERE wave IS NOT NULL;
CREATE INDEX release_gated ON release (workload_id, revision, wave, cluster_name) WHERE gate = 'Closed';

-- The objects of a release as its cluster last reported them. Written by reports; cascades.
CREATE TABLE release_resources (
    release_id TEXT PRIMARY KEY REFERENCES release (id) ON DELETE CASCADE,
    resources TEXT NOT NULL
);

-- The number of a workload's releases in one state, so that no page counts all releases. Written at the commit of
-- every transaction that changes releases; cascades.
CREATE TABLE release_count (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    state_rank BIGINT NOT NULL,
    total BIGINT NOT NULL,
    PRIMARY KEY (workload_id, state)
);

-- A release that was given up without the confirmation of its cluster: by a forced deletion, or with its cluster. Written by these verbs; `cluster_id` is
-- updated when a cluster that joined again reports the record of the release. It references nothing, because it outlives release, workload and cluster. While
-- it exists, the desired state of the cluster contains the removal. Deleted when the cluster has confirmed it or the release is desired again, and by the
-- retention loop after a year.
CREATE TABLE release_tombstone (
    release_id TEXT PRIMARY KEY,
    workload_id TEXT NOT NULL,
    workload_name TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    cluster_name TEXT NOT NULL,
    generation BIGINT NOT NULL,
    deletion TEXT NOT NULL,
    policies TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX release_tombstone_by_cluster ON release_tombstone (cluster_id);
CREATE INDEX release_tombstone_age ON release_tombstone (created_at);

-- Bytes by their digest: bundles, API schemas and large responses. Written by the placer and by plans (bundles), by
-- reports (schemas) and with idempotency records (responses); deleted by the retention loop when nothing references them and `last_put_at` is two days ago.
CREATE TABLE artifact (
    digest TEXT PRIMARY KEY,
    last_put_at BIGINT NOT NULL,
    body {{bytes}} NOT NULL
);
CREATE INDEX artifact_age ON artifact (last_put_at);

-- An exposure of a workload on a cluster: the path of a host or a node port, which a cluster can give to one workload only. Written by publishes and by the
-- placer; deleted by the placer, and by the update that ends its release; cascades. `exposure_key` is a digest, because paths may be long.
CREATE TABLE exposure (
    exposure_key TEXT NOT NULL,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    ingress_class TEXT NOT NULL,
    PRIMARY KEY (exposure_key, cluster_id, workload_id, ingress_class)
);
CREATE INDEX exposure_by_workload ON exposure (workload_id, cluster_id);
CREATE INDEX exposure_by_cluster ON exposure (cluster_id);

-- ------------------------------------------------------------------------------------------------------------ rollouts

-- The rollout of one revision in waves. Written by the publish, the rollout loop and users; deleted by the retention loop with its revision; cascades.
-- `active` is 1 until it has ended, `needs_attention` is 1 while it waits for an action of a user or for offline clusters.
CREATE TABLE rollout (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    active BIGINT NOT NULL,
    needs_attention BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workload_id, revision)
);
CREATE INDEX rollout_active ON rollout (workload_id) WHERE active = 1;
CREATE INDEX rollout_needs_attention ON rollout (workload_id) WHERE needs_attention = 1;

-- The rollout loop's work queue, one row per workload that had a rollout, with the columns of `placer_queue` except `placed_revision`. Inserted by the first
-- publish in waves; marked by the placer, reports and users, claimed and settled by the rollout loop; cascades.
CREATE TABLE rollout_queue (
    workload_id TEXT PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
    dirty_epoch BIGINT NOT NULL,
    marked_at BIGINT NOT NULL,
    due_at BIGINT,
    claimed BIGINT NOT NULL,
    claim_epoch BIGINT NOT NULL,
    claimed_dirty_epoch BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    failure TEXT
);
CREATE INDEX rollout_queue_due ON rollout_queue (due_at, workload_id) WHERE due_at IS NOT NULL;

-- --------------------------------------------------------------------------------------------------------------- plans

-- A plan: what publishing a draft would do; `body` contains neither targets nor planned changes. Written by the hub
-- for a user; deleted by the retention loop after it has expired; cascades.
CREATE TABLE plan (
    id TEXT PRIMARY KEY,
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX plan_by_workload ON plan (workload_id, created_at);
CREATE INDEX plan_expiry ON plan (expires_at);

-- One cluster of a plan. Inserted with the plan, updated with the result of its agent; cascades. `dry_run_request` is the request to the agent, NULL once it
-- has a result or if there is none. `bundle` is the digest of the rendered bundle.
CREATE TABLE plan_target (
    plan_id TEXT NOT NULL REFERENCES plan (id) ON DELETE CASCADE,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    dry_run_request TEXT,
    bundle TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (plan_id, cluster_id)
);
CREATE INDEX plan_target_pending ON plan_target (cluster_id) WHERE dry_run_request IS NOT NULL;

-- The planned changes on a cluster, once for all clusters of a plan with equal changes. Written with the plan and with the results of agents; cascades.
CREATE TABLE cluster_plan (
    plan_id TEXT NOT NULL REFERENCES plan (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (plan_id, digest)
);

-- --------------------------------------------------------------------------------------------- events and coordination

-- An event of the log, at a position. Written at the commit of the transaction that it describes; deleted by the
-- retention loop after 90 days. Events outlive what they describe, so they reference nothing.
CREATE TABLE event (
    seq BIGINT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    workload_id TEXT,
    workload_name TEXT NOT NULL,
    cluster_id TEXT,
    cluster_name TEXT NOT NULL,
    release_id TEXT,
    actor TEXT NOT NULL,
    message TEXT NOT NULL,
    detail TEXT
);
CREATE INDEX event_by_workload ON event (workload_id, seq) WHERE workload_id IS NOT NULL;
CREATE INDEX event_by_cluster ON event (cluster_id, seq) WHERE cluster_id IS NOT NULL;
CREATE INDEX event_age ON event (created_at);

-- The last assigned position of a sequence. Positions follow the order of commits: the row is locked from the assignment until the end of the transaction.
-- The only row, for `event`, is inserted here; updated by commits with events; never deleted.
CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counter (name, value) VALUES ('event', 0);

