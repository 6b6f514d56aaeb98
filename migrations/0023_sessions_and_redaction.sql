-- Sign-ins of one user, of which the oldest are deleted beyond a limit (docs/limits.md).
CREATE INDEX identity_session_by_user ON identity_session (user_id, expires_at);

-- How many more times what servers of earlier versions have stored is redacted: now, and once more after servers of the previous release have stopped.
-- Counted down by the loop `retention`.
INSERT INTO setting (name, value) VALUES ('redaction', '2');
