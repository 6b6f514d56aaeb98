-- Roles of users and API tokens.

-- The role of a user in a scope: `organization`, `project`, `clusterGroup` or `namespace`, with the id of that scope, which
-- for the only organisation is `default`. So far only roles in the organisation are written and evaluated. A user without
-- one may nothing. Written at sign-up, by an invitation and by a change of the role; never deleted, like users.
CREATE TABLE role_binding (
    subject TEXT{{bytewise}} NOT NULL,
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (subject, scope_kind, scope_id)
);
CREATE INDEX role_binding_by_role ON role_binding (scope_kind, scope_id, role);

-- Users from before there were roles could do everything.
INSERT INTO role_binding (subject, scope_kind, scope_id, role)
    SELECT id, 'organization', 'default', 'admin' FROM user_account;

-- `session_epoch` counts what ends all sessions of the user: a new role, a new password, a disable. `disabled_at` is the time of the disable.
ALTER TABLE user_account ADD COLUMN session_epoch BIGINT NOT NULL DEFAULT 0;
ALTER TABLE user_account ADD COLUMN disabled_at BIGINT;
ALTER TABLE user_account ADD COLUMN last_sign_in_at BIGINT;

-- A token may do what its role and the role of its user both allow. `project_id` is the project that it was created for, NULL for
-- the organisation. `can_mint` is 1 if the token may create further tokens. Tokens from before had all rights of their user.
ALTER TABLE api_token ADD COLUMN role TEXT NOT NULL DEFAULT 'admin';
ALTER TABLE api_token ADD COLUMN project_id TEXT;
ALTER TABLE api_token ADD COLUMN can_mint BIGINT NOT NULL DEFAULT 1;
