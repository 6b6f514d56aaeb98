-- Grows with every change of a group, so that nobody writes over what they have not seen.
ALTER TABLE cluster_group ADD COLUMN revision BIGINT NOT NULL DEFAULT 1;
