-- Links with which users set their passwords.

-- A link to set a password, once: of an invitation, or after a reset. At most one per user: a new one replaces it. Only the hash
-- of its secret is stored. Written by an administrator; deleted when it is used, when its user is disabled, and by the retention loop after it has expired.
CREATE TABLE password_link (
    user_id TEXT PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
    secret_sha256 TEXT NOT NULL UNIQUE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX password_link_expiry ON password_link (expires_at);
