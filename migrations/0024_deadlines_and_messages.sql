-- Deadlines of releases, quiet hours of subscriptions, and messages about the end of a publish (docs/rollouts.md, docs/incidents.md).

-- When a release that is not operational yet is past the deadline of its policies; NULL without one, while nothing is delivered, and once it is operational.
-- Written with every change of the release by the hub, and never read by a decision: it is only shown.
ALTER TABLE release ADD COLUMN deadline_at BIGINT;
CREATE INDEX release_deadline ON release (workload_id, deadline_at) WHERE deadline_at IS NOT NULL;

-- When the messages of a subscription are held back: a window of the week as JSON, NULL for never. Written by users.
ALTER TABLE subscription ADD COLUMN quiet_hours TEXT;
-- The user whose publishes a subscription is for, instead of incidents: its `scope` is then a workload without a name, which a server of the release before
-- reads as one that selects nothing.
ALTER TABLE subscription ADD COLUMN publisher TEXT;
-- Until when quiet hours hold a message back. One that was neither delivered nor is due (`due_at` and `delivered_at` are NULL) is not sent: its incident was
-- opened and closed within quiet hours. Written with the message.
ALTER TABLE delivery ADD COLUMN quiet_until BIGINT;

-- The message about the end of a publish for a channel, to the user who published: the other part of the outbox. Inserted with the publish, if its user has
-- subscribed to it, without `message` and with `check_at`: when its outcome is evaluated next. `outcome` and `outcome_since` are that of the last evaluation. Once the
-- publish ended, the loop `deliveries` writes `message` (JSON), and sends it as the messages of `delivery`, whose other columns mean the same. Cascades with operation and channel.
CREATE TABLE publish_message (
    id TEXT{{bytewise}} PRIMARY KEY,
    project_id TEXT NOT NULL,
    channel TEXT NOT NULL{{bytewise}},
    operation_id TEXT NOT NULL{{bytewise}} REFERENCES operation (id) ON DELETE CASCADE,
    workload_id TEXT NOT NULL,
    workload_name TEXT NOT NULL,
    revision BIGINT NOT NULL,
    publisher TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    check_at BIGINT,
    outcome TEXT,
    outcome_since BIGINT,
    message TEXT,
    due_at BIGINT,
    quiet_until BIGINT,
    claim_epoch BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    last_error TEXT,
    delivered_at BIGINT,
    note TEXT,
    FOREIGN KEY (project_id, channel) REFERENCES channel (project_id, name) ON DELETE CASCADE
);
CREATE INDEX publish_message_by_operation ON publish_message (operation_id);
CREATE INDEX publish_message_check ON publish_message (check_at, id) WHERE check_at IS NOT NULL;
CREATE INDEX publish_message_due ON publish_message (due_at, id) WHERE due_at IS NOT NULL;
