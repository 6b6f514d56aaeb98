-- What workloads expose on a cluster that a cluster gives to one alone: a path of a host, a port of the nodes.

-- `point` is a digest, because paths are as long as people write them. The key leads from a point to its holders.
CREATE TABLE exposure (
    point TEXT NOT NULL,
    cluster_id TEXT NOT NULL REFERENCES cluster (id) ON DELETE CASCADE,
    workload_id TEXT NOT NULL REFERENCES workload (id) ON DELETE CASCADE,
    class TEXT NOT NULL,
    PRIMARY KEY (point, cluster_id, workload_id, class)
);
CREATE INDEX exposure_of_workload ON exposure (workload_id, cluster_id);
CREATE INDEX exposure_of_cluster ON exposure (cluster_id);
