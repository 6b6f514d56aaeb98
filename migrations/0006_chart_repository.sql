-- Repositories of charts of a project. Written by users; the columns from `index_digest` on by refreshes. `credentials` is JSON in the
-- format that `credentials_format` names (`plain`: not encrypted), NULL without credentials; no query for display reads it.
-- `index_digest` is the artifact with the list of charts of the last complete index, which stays in use while refreshes fail; `etag` and
-- `last_modified` are the validators of that index. `status` is what lists show of it, as JSON. Deleted by users.
CREATE TABLE chart_repository (
    project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name TEXT NOT NULL{{bytewise}},
    url TEXT NOT NULL,
    plain_http BIGINT NOT NULL,
    credentials TEXT,
    credentials_format TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    resource_version BIGINT NOT NULL,
    index_digest TEXT,
    etag TEXT,
    last_modified TEXT,
    status TEXT NOT NULL,
    PRIMARY KEY (project_id, name)
);
CREATE INDEX chart_repository_by_index ON chart_repository (index_digest);
