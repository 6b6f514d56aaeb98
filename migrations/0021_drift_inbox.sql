-- The drift inbox: what clusters report as drift, by object, and what people snoozed (docs/drift.md).

-- An object of a release that differs from what was applied, as its cluster last reported it: derived from `release_resources`, so that the inbox
-- is listed without reading the reports. `object_key` is a digest of the object's kind and name, `digest` one of its fields with their values; `object`
-- and `fields` are JSON, `fields` has the first ones. Written and deleted by reports; cascades.
CREATE TABLE drift_item (
    id TEXT{{bytewise}} PRIMARY KEY,
    release_id TEXT NOT NULL REFERENCES release (id) ON DELETE CASCADE,
    object_key TEXT NOT NULL,
    object TEXT NOT NULL,
    fields TEXT NOT NULL,
    field_count BIGINT NOT NULL,
    digest TEXT NOT NULL,
    contested BIGINT NOT NULL,
    since_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX drift_item_object ON drift_item (release_id, object_key);
CREATE INDEX drift_item_order ON drift_item (contested DESC, since_at, id);

-- Until when the drift of an object is hidden, as long as its fields have this digest. Written by users; deleted by them and by the retention loop
-- when it has ended; cascades.
CREATE TABLE drift_snooze (
    release_id TEXT NOT NULL REFERENCES release (id) ON DELETE CASCADE,
    object_key TEXT NOT NULL,
    digest TEXT NOT NULL,
    until_at BIGINT NOT NULL,
    snoozed_by TEXT NOT NULL,
    snoozed_at BIGINT NOT NULL,
    PRIMARY KEY (release_id, object_key)
);
CREATE INDEX drift_snooze_end ON drift_snooze (until_at);
