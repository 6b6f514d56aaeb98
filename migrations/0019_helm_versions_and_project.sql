-- The versions of Helm that rendered the chart of a revision, as JSON: a sorted list, empty for manifests and for the revisions of before. Written by the publish;
-- the placer adds the version that renders the revision for a cluster that joins later.
ALTER TABLE revision ADD COLUMN helm_versions TEXT NOT NULL DEFAULT '[]';

-- Values that charts have on every cluster, whatever a workload, an override or a group sets, as YAML with its comments; encrypted. Written by users, with
-- `resource_version`, which grows with every change.
ALTER TABLE project ADD COLUMN locked_values TEXT NOT NULL DEFAULT '';
ALTER TABLE project ADD COLUMN resource_version BIGINT NOT NULL DEFAULT 1;
