-- What an event changed, from what to what, as JSON: the message is for people, and programs do not parse it.
ALTER TABLE event ADD COLUMN detail TEXT;
