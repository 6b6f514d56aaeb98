-- Whose session a row is, since when, from where: for the list of a user's own sessions. Written with the session. A session of an earlier
-- version has no user here before its next use, and is not listed until then.
ALTER TABLE session ADD COLUMN user_id TEXT REFERENCES user_account (id) ON DELETE CASCADE;
ALTER TABLE session ADD COLUMN signed_in_at BIGINT NOT NULL DEFAULT 0;
-- Written at most every ten minutes.
ALTER TABLE session ADD COLUMN used_at BIGINT NOT NULL DEFAULT 0;
-- The network address and the `User-Agent` of the sign-in; empty if not known.
ALTER TABLE session ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
CREATE INDEX session_by_user ON session (user_id);
