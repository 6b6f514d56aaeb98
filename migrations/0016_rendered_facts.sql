-- The facts that a release is rendered with: those of its cluster when its revision was first rendered there, so that an upgrade of the cluster changes nothing
-- that was published. `rendered_facts` is the artifact with the facts, `rendered_facts_revision` the revision that they are of; `facts_comparison` is JSON: what
-- the present facts would change. Written by the placer; empty for the releases of before until it places them again.
ALTER TABLE release ADD COLUMN rendered_facts TEXT;
ALTER TABLE release ADD COLUMN rendered_facts_revision BIGINT;
ALTER TABLE release ADD COLUMN facts_comparison TEXT;
CREATE INDEX release_rendered_facts ON release (rendered_facts) WHERE rendered_facts IS NOT NULL;
