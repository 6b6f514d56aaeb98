-- The versions of Helm that rendered the chart of a revision, as JSON: a sorted list, empty for manifests and for the revisions of before. Written by the publish;
-- the placer adds the version that renders the revision for a cluster that joins later.
ALTER TABLE revision ADD COLUMN helm_versions TEXT NOT NULL DEFAULT '[]';
