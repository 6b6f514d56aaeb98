-- Git repositories that need credentials, webhooks or signatures. `credentials` is JSON with the secret in the format that `credentials_format`
-- names (`plain`: not encrypted), NULL without credentials; so is `webhook_secret`. No query for display reads them. `allowed_signers` are the
-- SSH keys that commits must be signed with, one a line; empty if any commit is accepted. Created and deleted by users.
CREATE TABLE git_repository (
    project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    name TEXT NOT NULL{{bytewise}},
    url TEXT NOT NULL,
    credentials TEXT,
    credentials_format TEXT NOT NULL,
    webhook_secret TEXT,
    allowed_signers TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    resource_version BIGINT NOT NULL,
    PRIMARY KEY (project_id, name)
);

-- The content of a commit at a path, as it was fetched: `digest` is its artifact, `pinned` what sources store about it, as JSON. A row is never
-- changed. It is deleted by retention once no draft and no revision names the commit.
CREATE TABLE git_snapshot (
    project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    path TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    pinned TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, url, path, commit_id)
);
CREATE INDEX git_snapshot_by_digest ON git_snapshot (digest);

-- A ref of a repository that drafts follow, checked for all of them at once. `status` is what is known about it, as JSON; a failure keeps the
-- commit that was read last. `next_check_at` is when it is due; a server that checks it moves it on first, so that others do not. Rows
-- without a draft are deleted when they are due.
CREATE TABLE git_ref (
    project_id TEXT NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    ref TEXT NOT NULL,
    next_check_at BIGINT NOT NULL,
    status TEXT NOT NULL,
    PRIMARY KEY (project_id, url, ref)
);
CREATE INDEX git_ref_by_due ON git_ref (next_check_at);

-- The Git source of the draft of a workload, written with it. `follow_status` is what the last new commit led to, as JSON.
CREATE TABLE git_source (
    workload_id TEXT NOT NULL PRIMARY KEY REFERENCES workload (id) ON DELETE CASCADE,
    project_id TEXT NOT NULL,
    url TEXT NOT NULL,
    ref TEXT NOT NULL,
    path TEXT NOT NULL,
    follow_status TEXT NOT NULL
);
CREATE INDEX git_source_by_ref ON git_source (project_id, url, ref);
