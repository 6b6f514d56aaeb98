-- Deadlines of releases, quiet hours of subscriptions, and messages about the end of a publish (docs/rollouts.md, docs/incidents.md).

-- When a release that is not operational yet is past the deadline of its policies; NULL without one, while nothing is delivered, and once it is operational.
-- Written with every change of the release by the hub, and never read by a decision: it is only shown.
ALTER TABLE release ADD COLUMN deadline_at BIGINT;

-- When the messages of a subscription are held back: a window of the week as JSON, NULL for never. Written by users.
ALTER TABLE subscription ADD COLUMN quiet_hours TEXT;
-- Until when quiet hours hold a message back. One that was neither delivered nor is due (`due_at` and `delivered_at` are NULL) is not sent: its incident was
-- opened and closed within quiet hours. Written with the message.
ALTER TABLE delivery ADD COLUMN quiet_until BIGINT;
