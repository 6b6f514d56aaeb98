-- Which clusters are about to lose the workload, beside the decision that says so: a page asks for this with every notice, and
-- a decision about ten thousand clusters is megabytes.
ALTER TABLE decision ADD COLUMN leaving TEXT NOT NULL DEFAULT '[]';
