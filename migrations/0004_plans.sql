-- Plans: what publishing a draft would do on every cluster, kept until they expire.

-- `body` is the plan without its targets and effects.
CREATE TABLE plan (
    id TEXT PRIMARY KEY,
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX plan_of_workload ON plan (workload_id, created_at);
CREATE INDEX plan_expiry ON plan (expires_at);

-- One row per cluster. `ask` is the question its agent has not answered yet.
CREATE TABLE plan_target (
    plan_id TEXT NOT NULL REFERENCES plan (id) ON DELETE CASCADE,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    ask TEXT,
    bundle TEXT,
    body TEXT NOT NULL,
    PRIMARY KEY (plan_id, cluster_id)
);
CREATE INDEX plan_target_asked ON plan_target (cluster_id) WHERE ask IS NOT NULL;

-- What would happen, once for all clusters on which the same would.
CREATE TABLE plan_effect (
    plan_id TEXT NOT NULL REFERENCES plan (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (plan_id, digest)
);
