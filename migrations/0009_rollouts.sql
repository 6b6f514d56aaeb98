-- Rollouts: a publish on its way through waves.

-- `active` is 1 while it can still go on, `needs_person` while that takes a person.
CREATE TABLE rollout (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    active BIGINT NOT NULL,
    needs_person BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workload_id, revision)
);
CREATE INDEX rollout_active ON rollout (workload_id) WHERE active = 1;
CREATE INDEX rollout_waiting ON rollout (workload_id) WHERE needs_person = 1;

-- The queue of the loop that lets clusters through, one row per workload; the columns are those of `workload_work`, and the
-- number of the revision that the placer has written to every cluster: before that there is nothing to count.
CREATE TABLE rollout_work (
    workload_id TEXT PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
    dirty_epoch BIGINT NOT NULL,
    marked_at BIGINT NOT NULL,
    due_at BIGINT,
    leased BIGINT NOT NULL,
    claim_epoch BIGINT NOT NULL,
    claimed_dirty BIGINT NOT NULL,
    placed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX rollout_work_due ON rollout_work (due_at, workload_id) WHERE due_at IS NOT NULL;

-- `wave` is NULL for a release whose revision goes everywhere at once, `gate` is the name of a
-- domain::release::Gate: Closed until its rollout admits it, Aborted if the rollout was aborted before.
ALTER TABLE release ADD COLUMN wave BIGINT;
ALTER TABLE release ADD COLUMN gate TEXT NOT NULL DEFAULT 'Open';
ALTER TABLE release ADD COLUMN released_revision BIGINT;
UPDATE release SET released_revision = revision WHERE released IS NOT NULL;
CREATE INDEX release_of_wave ON release (workload_id, revision, wave, gate, state, state_since) WHERE wave IS NOT NULL;
CREATE INDEX release_gated ON release (workload_id, revision, wave, cluster_name) WHERE gate = 'Closed';
