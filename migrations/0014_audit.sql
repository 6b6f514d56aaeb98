-- The audit log (docs/audit.md). An entry is written in the transaction of the change that it records; entries are never updated and never
-- deleted. `seq` is without gaps and in the order of the commits: the row of `counter` stays locked from its assignment until the commit.
-- `hash` covers the content and `previous`, the hash of the entry before.
CREATE TABLE audit_entry (
    seq BIGINT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    credential TEXT NOT NULL,
    address TEXT NOT NULL,
    request_id TEXT NOT NULL,
    action TEXT NOT NULL,
    outcome TEXT NOT NULL,
    subject TEXT NOT NULL,
    message TEXT NOT NULL,
    changes TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE INDEX audit_entry_by_actor ON audit_entry (actor, seq);
CREATE INDEX audit_entry_by_action ON audit_entry (action, seq);
CREATE INDEX audit_entry_by_outcome ON audit_entry (outcome, seq);
INSERT INTO counter (name, value) VALUES ('audit', 0);
