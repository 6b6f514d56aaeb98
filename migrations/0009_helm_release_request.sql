-- Helm releases that users want to adopt, requested from the agent of a cluster. Written by the request and by the agent's answer, deleted when the
-- answer is read, else by the next pass of retention: the values of a release can contain passwords.
CREATE TABLE helm_release_request (
    cluster_id   TEXT{{bytewise}} NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    namespace    TEXT{{bytewise}} NOT NULL,
    name         TEXT{{bytewise}} NOT NULL,
    requested_at BIGINT NOT NULL,
    -- domain::helm_release::HelmReleaseReading; NULL until the agent has answered.
    reading      TEXT,
    PRIMARY KEY (cluster_id, namespace, name)
);
CREATE INDEX helm_release_request_age ON helm_release_request (requested_at);
