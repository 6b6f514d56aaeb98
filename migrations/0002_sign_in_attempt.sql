-- Limits of attempts to sign in, shared by the servers of a database.

-- Attempts to sign in by subject: an address, a name, a name from an address, or a name on a device that has signed in
-- before. Only the hash of the subject is stored, because a name that was typed may be a password. `failures` is counted
-- before the password is verified and taken back after a success; before `retry_at` no further attempt is accepted.
-- Written by every attempt to sign in; deleted by the retention loop after it has expired.
CREATE TABLE sign_in_attempt (
    subject_hash TEXT{{bytewise}} PRIMARY KEY,
    failures BIGINT NOT NULL,
    retry_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_attempt_expiry ON sign_in_attempt (expires_at);
