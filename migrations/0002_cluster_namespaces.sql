-- Namespaces of a cluster with their quotas: as long as the list of kinds, and like it read only where it is needed.
ALTER TABLE cluster_facts ADD COLUMN namespaces TEXT NOT NULL DEFAULT '[]';
