-- How clusters join: tokens, registrations that wait for a person, and the certificates of agents.

CREATE TABLE join_token (
    id TEXT PRIMARY KEY,
    sha256 TEXT NOT NULL,
    cluster_name TEXT,
    labels TEXT NOT NULL,
    auto_accept BIGINT NOT NULL,
    max_uses BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX join_token_expiry ON join_token (expires_at);

-- One row per key that ever asked to join and was not forgotten. `cluster_id` is set once it was accepted.
CREATE TABLE registration (
    fingerprint TEXT PRIMARY KEY,
    token_id TEXT NOT NULL,
    name TEXT{{bytewise}} NOT NULL,
    state TEXT NOT NULL,
    csr TEXT NOT NULL,
    facts TEXT NOT NULL,
    labels TEXT NOT NULL,
    since BIGINT NOT NULL,
    decided_by TEXT,
    decided_at BIGINT,
    cluster_id TEXT REFERENCES cluster (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX registration_pending ON registration (name) WHERE state = 'pending';
CREATE INDEX registration_of_cluster ON registration (cluster_id) WHERE cluster_id IS NOT NULL;

-- Certificates that were given out. A request is answered only if its certificate stands here and was not revoked.
CREATE TABLE agent_identity (
    serial TEXT PRIMARY KEY,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    fingerprint TEXT NOT NULL,
    certificate TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    not_after BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX agent_identity_of_cluster ON agent_identity (cluster_id, not_after);

-- How far a cluster has come in joining: what the conditions Accepted and Joined are made of.
CREATE TABLE cluster_join (
    cluster_id TEXT PRIMARY KEY REFERENCES cluster (id) ON DELETE CASCADE,
    accepted_by TEXT NOT NULL,
    accepted_at BIGINT NOT NULL,
    joined_at BIGINT,
    agent_version TEXT NOT NULL,
    revoked_at BIGINT
);
