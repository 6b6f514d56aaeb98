-- The first revision that a cluster reported as completely applied since the release is on it; written with reports, and here where
-- something is applied. What is applied now counts as the installation, so that its rendering stays as it is.
ALTER TABLE release ADD COLUMN installed_revision BIGINT;
UPDATE release SET installed_revision = applied_revision WHERE applied IS NOT NULL;
