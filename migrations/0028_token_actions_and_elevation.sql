-- The only actions that an API token may do in addition to reading: names of `domain::authorization::UserAction`, separated by spaces. NULL for all
-- actions of its role, as of every token of an earlier release. A server of an earlier release does not read the column: until all servers have
-- this release, such a token has all actions of its role there.
ALTER TABLE api_token ADD COLUMN actions TEXT;

-- A higher role of a user until a time, and why. At most one per user: a new one replaces it. Written by an administrator. It counts until it expires; a
-- server of an earlier release does not read it, and the user has the role of `role_binding` there. Deleted when an administrator ends it or disables the
-- user, and with another role of the user or none.
CREATE TABLE elevation (
    user_id TEXT PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
