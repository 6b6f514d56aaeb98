-- Channels that send e-mail, and the texts of messages by templates (docs/incidents.md).

-- Mail server, user name and addresses as JSON; NULL for the other kinds. The password is in `secret`, which is encrypted. Written with the channel.
ALTER TABLE channel ADD COLUMN email TEXT;

-- The text of the messages as a template; NULL for the built-in text. Written by administrators, checked before.
ALTER TABLE channel ADD COLUMN template TEXT;

-- What was different about a message that was delivered: that the template of its channel failed, and why. Written with `delivered_at`.
ALTER TABLE delivery ADD COLUMN note TEXT;
