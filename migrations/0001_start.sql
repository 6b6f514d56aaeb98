-- The first schema. Words in double braces differ per engine, see README.md beside this file.
-- Instants are BIGINT milliseconds since the epoch, yes and no are BIGINT 1 and 0, ids are ULIDs as TEXT.

CREATE TABLE project (
    id TEXT PRIMARY KEY,
    name TEXT{{bytewise}} NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- Clusters. What a person edits, what the agent found out, the pulse and the version of the wants are four rows,
-- because they are written by four parties at four rates.
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
    revision BIGINT NOT NULL
);

CREATE TABLE cluster_facts (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    facts TEXT NOT NULL,
    apis TEXT NOT NULL
);

CREATE TABLE cluster_pulse (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    reach TEXT NOT NULL,
    last_seen BIGINT,
    incarnation BIGINT NOT NULL,
    seq BIGINT NOT NULL
);
CREATE INDEX cluster_pulse_overdue ON cluster_pulse (reach, last_seen);

CREATE TABLE cluster_wants (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    version BIGINT NOT NULL
);

CREATE TABLE cluster_label (
    owner_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner_id, name)
);
CREATE INDEX cluster_label_value ON cluster_label (name, value, owner_id);

CREATE TABLE cluster_group (
    name TEXT{{bytewise}} PRIMARY KEY,
    members TEXT NOT NULL,
    selector TEXT
);

CREATE TABLE workload (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES project (id),
    name TEXT{{bytewise}} NOT NULL,
    namespace TEXT NOT NULL,
    labels TEXT NOT NULL,
    intent TEXT NOT NULL,
    published BIGINT,
    draft_changed BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    updated_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    draft TEXT NOT NULL,
    UNIQUE (project_id, name)
);
CREATE INDEX workload_intent ON workload (intent, id);

CREATE TABLE workload_label (
    owner_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (owner_id, name)
);
CREATE INDEX workload_label_value ON workload_label (name, value, owner_id);

-- The placer's queue: one row per workload. `due_at` is when it may be claimed, and the end of the lease once it is;
-- NULL when there is nothing to do. `dirty_epoch` counts marks, `claim_epoch` counts claims and fences them.
CREATE TABLE workload_work (
    workload_id TEXT PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
    dirty_epoch BIGINT NOT NULL,
    marked_at BIGINT NOT NULL,
    due_at BIGINT,
    leased BIGINT NOT NULL,
    claim_epoch BIGINT NOT NULL,
    claimed_dirty BIGINT NOT NULL
);
CREATE INDEX workload_work_due ON workload_work (due_at, workload_id) WHERE due_at IS NOT NULL;

CREATE TABLE revision (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    author TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    spec TEXT NOT NULL,
    PRIMARY KEY (workload_id, number)
);

CREATE TABLE decision (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workload_id, number)
);

-- One workload on one cluster. `state` is derived by the domain at every write; `known` is the same without the third
-- axis, so that a cluster that falls silent moves `state` in one statement. Names are immutable and kept here so that
-- every order a page offers has an index.
CREATE TABLE release (
    id TEXT PRIMARY KEY,
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    cluster_id TEXT NOT NULL REFERENCES cluster (id),
    workload_name TEXT{{bytewise}} NOT NULL,
    cluster_name TEXT{{bytewise}} NOT NULL,
    revision BIGINT,
    generation BIGINT NOT NULL,
    sync_nonce BIGINT NOT NULL,
    desired TEXT,
    released TEXT,
    applied TEXT,
    sync TEXT NOT NULL,
    health TEXT NOT NULL,
    reach TEXT NOT NULL,
    state TEXT NOT NULL,
    state_rank BIGINT NOT NULL,
    known TEXT NOT NULL,
    known_rank BIGINT NOT NULL,
    state_since BIGINT NOT NULL,
    reported_at BIGINT,
    wanted BIGINT NOT NULL,
    message TEXT NOT NULL,
    goal TEXT NOT NULL,
    policies TEXT NOT NULL,
    health_detail TEXT NOT NULL,
    stages TEXT NOT NULL,
    UNIQUE (workload_id, cluster_id)
);
CREATE INDEX release_of_workload ON release (workload_id, state_rank DESC, cluster_name);
CREATE INDEX release_of_cluster ON release (cluster_id, state_rank DESC, workload_name);
CREATE INDEX release_wanted ON release (cluster_id, id) WHERE wanted = 1;
-- 15 is the rank of Blocked: it and all louder states need a person.
CREATE INDEX release_failing ON release (state_rank DESC, state_since) WHERE state_rank >= 15;
CREATE INDEX release_desired ON release (desired) WHERE desired IS NOT NULL;
CREATE INDEX release_released ON release (released) WHERE released IS NOT NULL;
CREATE INDEX release_applied ON release (applied) WHERE applied IS NOT NULL;

CREATE TABLE release_detail (
    release_id TEXT PRIMARY KEY REFERENCES release (id) ON DELETE CASCADE,
    resources TEXT NOT NULL
);

-- Releases by state, kept in the transaction that changes them, so that no page counts a fleet.
CREATE TABLE release_count (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    state_rank BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (workload_id, state)
);

CREATE TABLE artifact (
    digest TEXT PRIMARY KEY,
    touched_at BIGINT NOT NULL,
    body {{bytes}} NOT NULL
);
CREATE INDEX artifact_touched ON artifact (touched_at);

-- The log outlives what it tells of, so it references nothing.
CREATE TABLE event (
    seq BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL,
    workload_id TEXT,
    workload_name TEXT NOT NULL,
    cluster_id TEXT,
    cluster_name TEXT NOT NULL,
    release_id TEXT,
    actor TEXT NOT NULL,
    message TEXT NOT NULL
);
CREATE INDEX event_of_workload ON event (workload_id, seq) WHERE workload_id IS NOT NULL;
CREATE INDEX event_of_cluster ON event (cluster_id, seq) WHERE cluster_id IS NOT NULL;
CREATE INDEX event_at ON event (at);

-- Positions handed out in the order of commits: whoever takes one holds its row until the transaction ends.
CREATE TABLE counter (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counter (name, value) VALUES ('event', 0);

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    ends_at BIGINT NOT NULL
);

-- `user` is a reserved word in PostgreSQL.
CREATE TABLE user_account (
    id TEXT PRIMARY KEY,
    name TEXT{{bytewise}} NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE session (
    id_hash TEXT PRIMARY KEY,
    data TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX session_expiry ON session (expires_at);

CREATE TABLE token (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    used_at BIGINT
);
CREATE INDEX token_of_user ON token (user_id, id);

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE idempotency (
    idempotency_key TEXT NOT NULL,
    actor TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    status BIGINT NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (idempotency_key, actor)
);
CREATE INDEX idempotency_age ON idempotency (created_at);
