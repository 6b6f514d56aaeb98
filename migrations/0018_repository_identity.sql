-- The URL of a repository in the form that all its spellings share (`source::git::GitRemote::identity` and
-- `source::repository::Repository::identity`): of two requests that add one URL at the same time, one is refused. NULL in rows that an earlier
-- release wrote, until their URL is changed: SQL can't compute the form, and some of them may share it. They are compared by the form of `url`
-- when a repository is saved; a URL that several of them name is not read until the others are removed.
ALTER TABLE git_repository ADD COLUMN url_identity TEXT;
CREATE UNIQUE INDEX git_repository_by_url ON git_repository (project_id, url_identity);
ALTER TABLE chart_repository ADD COLUMN url_identity TEXT;
CREATE UNIQUE INDEX chart_repository_by_url ON chart_repository (project_id, url_identity);
