-- The only actions that an API token may do in addition to reading: names of `domain::authorization::UserAction`, separated by spaces. NULL for all
-- actions of its role, as of every token of an earlier release. A server of an earlier release does not read the column: until all servers have
-- this release, such a token has all actions of its role there.
ALTER TABLE api_token ADD COLUMN actions TEXT;
