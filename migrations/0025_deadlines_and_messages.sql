-- Deadlines of releases, quiet hours of subscriptions, and messages about the end of a publish (docs/rollouts.md, docs/incidents.md).

-- When a release that is not operational yet is past the deadline of its policies; NULL without one, while nothing is delivered, and once it is operational.
-- Written with every change of the release by the hub, and never read by a decision: it is only shown.
ALTER TABLE release ADD COLUMN deadline_at BIGINT;
