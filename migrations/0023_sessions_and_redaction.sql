-- Sign-ins of one user, of which the oldest are deleted beyond a limit (docs/limits.md).
CREATE INDEX identity_session_by_user ON identity_session (user_id, expires_at);
