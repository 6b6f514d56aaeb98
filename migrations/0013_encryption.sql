-- Encryption of the columns that crates/store/src/sealed/columns.rs lists (docs/encryption.md).

-- The keys that values are encrypted with. `wrapped` is the key, encrypted by the wrapping key that `wrapping_key` names, which is never stored
-- here. From `active_from` on, servers encrypt with the newest key; before, they only read with it, so that every server has it when the first
-- value needs it. Written at the first start and by `flotilla-server keys rotate`; updated by `keys rewrap`; never deleted, because a value that
-- was encrypted with a deleted key can't be read again.
CREATE TABLE data_key (
    id TEXT{{bytewise}} PRIMARY KEY,
    wrapping_key TEXT NOT NULL,
    wrapped TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    active_from BIGINT NOT NULL
);

-- The progress of re-encryption, one row per column. Inserted when encryption is switched on and by `keys rotate`, updated with every batch.
-- `position` is the key of the last row that was read, as a JSON list, NULL before the first; `done` is 1 when all rows were read. A round
-- starts at `not_before`, when every server writes values as it finds them.
CREATE TABLE encryption_pass (
    table_name TEXT{{bytewise}} NOT NULL,
    column_name TEXT{{bytewise}} NOT NULL,
    position TEXT,
    checked BIGINT NOT NULL,
    rewritten BIGINT NOT NULL,
    done BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    PRIMARY KEY (table_name, column_name)
);

-- What an encrypted spec refers to, so that it can be found without decrypting all of them: `group` a cluster group, `chart` a chart with its
-- version in `detail`, `commit` a pinned commit, `unknown` if the spec could not be read, which may refer to anything. `revision` is 0 for the
-- draft. Replaced with the spec; cascades with the workload; deleted by the retention loop with the revision.
CREATE TABLE spec_reference (
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT{{bytewise}} NOT NULL,
    detail TEXT{{bytewise}} NOT NULL,
    PRIMARY KEY (workload_id, revision, kind, name, detail)
);
CREATE INDEX spec_reference_by_name ON spec_reference (kind, name);

-- `waiting`: values are written in clear text, because servers of the previous release may still run. `running`: new values are encrypted,
-- existing ones are being encrypted. `complete`: all are. A new database starts with `complete`.
INSERT INTO setting (name, value) VALUES ('encryption', 'waiting');
