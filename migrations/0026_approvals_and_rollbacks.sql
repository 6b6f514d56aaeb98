-- Whether a publish has to be approved: none, anyone or anotherUser. Written by administrators with the other settings of the project.
ALTER TABLE project ADD COLUMN publish_approval TEXT NOT NULL DEFAULT 'none';

-- What a cluster might apply before its rollout admitted it to `released_revision`, which a rollback releases again: digest of the bundle, number of its revision,
-- and its policies as JSON. Written when a wave delivers a revision, and empty without waves; emptied when another revision is desired.
ALTER TABLE release ADD COLUMN rollback_bundle TEXT;
ALTER TABLE release ADD COLUMN rollback_revision BIGINT;
ALTER TABLE release ADD COLUMN rollback_policies TEXT;
CREATE INDEX release_rollback_bundle ON release (rollback_bundle) WHERE rollback_bundle IS NOT NULL;
