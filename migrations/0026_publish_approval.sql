-- Whether a publish has to be approved: none, anyone or anotherUser. Written by administrators with the other settings of the project.
ALTER TABLE project ADD COLUMN publish_approval TEXT NOT NULL DEFAULT 'none';
