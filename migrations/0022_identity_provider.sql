-- Sign-in with OpenID Connect (docs/security.md).

-- A provider. `settings` has the scopes, the claims of groups and name, and the roles of groups, as JSON; `client_secret` is encrypted, NULL for
-- a public client. Written and deleted by administrators.
CREATE TABLE identity_provider (
    name TEXT{{bytewise}} PRIMARY KEY,
    display_name TEXT NOT NULL,
    issuer TEXT NOT NULL UNIQUE,
    client_id TEXT NOT NULL,
    client_secret TEXT,
    settings TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    resource_version BIGINT NOT NULL
);

-- Who a user is at a provider: issuer and subject, never an e-mail address or a name. `reading` is what the provider said last, from which the role
-- follows, encrypted. Written at every sign-in and renewal; never deleted, like users, so that the subject gets the same user again.
CREATE TABLE user_identity (
    user_id TEXT PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    reading TEXT NOT NULL,
    checked_at BIGINT NOT NULL,
    UNIQUE (issuer, subject)
);

-- A sign-in with a provider, which sessions of the console refer to by its id: they end with this row. `sid` is the session at the provider, empty if it
-- has none; `refresh_token` is encrypted. `checked_at` is the last time at which the provider confirmed it, `retry_at` when it is asked again, and until
-- `claimed_until` one server does. Deleted by a sign-out, a logout of the provider, a failed renewal, and by the retention loop after it has expired.
CREATE TABLE identity_session (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
    provider TEXT{{bytewise}} NOT NULL REFERENCES identity_provider (name) ON DELETE CASCADE,
    subject TEXT NOT NULL,
    sid TEXT NOT NULL,
    refresh_token TEXT NOT NULL,
    checked_at BIGINT NOT NULL,
    retry_at BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX identity_session_by_subject ON identity_session (provider, subject);
CREATE INDEX identity_session_expiry ON identity_session (expires_at);

-- Hashes of what works once: the state of a sign-in, the id of a logout token. Deleted by the retention loop after it has expired.
CREATE TABLE identity_replay (
    used_hash TEXT PRIMARY KEY,
    expires_at BIGINT NOT NULL
);
CREATE INDEX identity_replay_expiry ON identity_replay (expires_at);
