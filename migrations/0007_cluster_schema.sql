-- Which artifact holds what a cluster's API server says of the structure of its kinds; empty while it has told none.
ALTER TABLE cluster_facts ADD COLUMN schema_digest TEXT NOT NULL DEFAULT '';
CREATE INDEX cluster_facts_schema ON cluster_facts (schema_digest);
