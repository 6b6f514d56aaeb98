-- What people requested for workloads: publishes, syncs, removals. Written by the verb. While an operation is the latest one of its workload,
-- its outcome per cluster is derived from the releases; when the next one starts or the workload is gone, `closed_at`, `counts` and `targets`
-- (JSON) record the outcome of then. Not deleted with the workload, but by the retention loop after 90 days.
CREATE TABLE operation (
    id TEXT{{bytewise}} PRIMARY KEY,
    workload_id TEXT NOT NULL,
    workload_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    revision BIGINT,
    actor TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    closed_at BIGINT,
    counts TEXT,
    targets TEXT
);
CREATE INDEX operation_by_workload ON operation (workload_id, id);
CREATE INDEX operation_age ON operation (started_at);

-- Whether members of the group may be in no other group (1), the values that it locks (YAML), and its features that differ from the
-- defaults, as JSON.
ALTER TABLE cluster_group ADD COLUMN exclusive BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cluster_group ADD COLUMN locked_values TEXT NOT NULL DEFAULT '';
ALTER TABLE cluster_group ADD COLUMN features TEXT NOT NULL DEFAULT '[]';

-- The revision of the bundle that a cluster reported as applied; set with the next report, and here where it is known.
ALTER TABLE release ADD COLUMN applied_revision BIGINT;
UPDATE release SET applied_revision = released_revision WHERE applied = released;

-- Annotations of a cluster, and values of its own for templates; JSON maps, written by users.
ALTER TABLE cluster ADD COLUMN annotations TEXT NOT NULL DEFAULT '{}';
ALTER TABLE cluster ADD COLUMN template_values TEXT NOT NULL DEFAULT '{}';
