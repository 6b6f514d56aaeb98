-- The facts that placement uses, because a user has confirmed them: a part of `facts`, as JSON. Empty until the cluster is
-- accepted with its facts, or until a user confirms what it reports. What clusters report at the upgrade counts as confirmed:
-- placement has used it so far. These rows contain all facts; what is not part of the confirmed ones is ignored.
ALTER TABLE cluster_facts ADD COLUMN confirmed TEXT NOT NULL DEFAULT '{}';
UPDATE cluster_facts SET confirmed = facts;
