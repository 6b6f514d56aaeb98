-- Channels that send e-mail (docs/incidents.md).

-- Mail server, user name and addresses as JSON; NULL for the other kinds. The password is in `secret`, which is encrypted. Written with the channel.
ALTER TABLE channel ADD COLUMN email TEXT;
