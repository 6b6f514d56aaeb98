-- What a release returns to when its revision fails and is rolled back there: `previous` is the bundle that was applied completely before `revision` was admitted,
-- `previous_revision` its number; empty if there was none, and for the releases of before until their next revision. `confirmed_revision` is the last revision that
-- was operational on the cluster: it is not rolled back when it fails later. Written with admissions and reports.
ALTER TABLE release ADD COLUMN previous TEXT;
ALTER TABLE release ADD COLUMN previous_revision BIGINT;
ALTER TABLE release ADD COLUMN confirmed_revision BIGINT;
CREATE INDEX release_previous ON release (previous) WHERE previous IS NOT NULL;

-- The earlier revision that a publish published again: a rollback. NULL for every other operation, and for those of before.
ALTER TABLE operation ADD COLUMN restored_revision BIGINT;
