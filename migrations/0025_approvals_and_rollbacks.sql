-- Whether a publish has to be approved: none, anyone or anotherUser. Written by administrators with the other settings of the project.
ALTER TABLE project ADD COLUMN publish_approval TEXT NOT NULL DEFAULT 'none';

-- What a rollback returns to: what a cluster applied completely before it might apply `released_revision`; digest of the bundle, number of its revision, and the policies
-- released with it as JSON. Empty if there was nothing, and for the releases of before until their next revision. `confirmed_revision` is the last revision that was
-- operational on the cluster: one that fails later is not rolled back there by itself. Written with deliveries and reports.
ALTER TABLE release ADD COLUMN rollback_bundle TEXT;
ALTER TABLE release ADD COLUMN rollback_revision BIGINT;
ALTER TABLE release ADD COLUMN rollback_policies TEXT;
ALTER TABLE release ADD COLUMN confirmed_revision BIGINT;
CREATE INDEX release_rollback_bundle ON release (rollback_bundle) WHERE rollback_bundle IS NOT NULL;

-- The earlier revision that a publish published again: a rollback. NULL for every other operation, and for those of before.
ALTER TABLE operation ADD COLUMN restored_revision BIGINT;
