-- Charts of a project, by repository, name and version; `local` is the repository of uploaded ones. Written by an upload, never changed: a
-- revision that names a version always means the same archive. `digest` is the artifact with the archive, `metadata` what its lists show, as JSON.
CREATE TABLE chart (
    project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    repository TEXT NOT NULL,
    name TEXT NOT NULL{{bytewise}},
    version TEXT NOT NULL{{bytewise}},
    digest TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, repository, name, version)
);
CREATE INDEX chart_by_digest ON chart (digest);

-- The rendered manifests of a chart by the digest of all inputs, so that a rendering is made once, also if a chart contains random values.
-- `files_digest` is the artifact with the files. Written by checks, plans and the placer. `used` is 1 once a published revision was delivered
-- with it: such a row stays; others are deleted by the retention loop after a week.
CREATE TABLE chart_rendering (
    inputs_digest TEXT PRIMARY KEY,
    chart_digest TEXT NOT NULL,
    files_digest TEXT NOT NULL,
    helm_version TEXT NOT NULL,
    findings TEXT NOT NULL,
    used BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX chart_rendering_by_files ON chart_rendering (files_digest);
CREATE INDEX chart_rendering_age ON chart_rendering (used, created_at);
