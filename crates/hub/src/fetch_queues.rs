//! What is read at the same time from servers that users chose: of all of them, and of one host less than that, so that a host that
//! responds slowly leaves places to the others. What waits has its turns by host, and of one host by repository.

use crate::fair_queue::{FairQueue, QueueFull, QueueKey, QueueLimits};

/// Commits and artifacts: each may have a pack of 64 MiB in memory.
const COMMITS: QueueLimits = limits(6, 2);
/// Refs and tags: a list of 2 MiB each, for at most 20 s.
const REFS: QueueLimits = limits(32, 4);
/// Indexes: each may have 32 MiB as text.
const INDEXES: QueueLimits = limits(6, 2);
/// Charts: each may have the index of its repository in memory, 32 MiB as text.
const CHARTS: QueueLimits = limits(6, 2);

const fn limits(running: usize, running_of_host: usize) -> QueueLimits {
    QueueLimits {
        running,
        running_of_group: running_of_host,
        waiting: 4_000,
        waiting_of_group: 1_000,
        waiting_of_key: 500,
    }
}

/// The queues of this server.
pub(crate) struct FetchQueues {
    /// Commits of Git repositories and OCI artifacts.
    pub commits: FairQueue,
    /// Refs and tags.
    pub refs: FairQueue,
    /// Indexes of chart repositories.
    pub indexes: FairQueue,
    /// Charts.
    pub charts: FairQueue,
}

impl Default for FetchQueues {
    fn default() -> Self {
        Self {
            commits: FairQueue::new(COMMITS),
            refs: FairQueue::new(REFS),
            indexes: FairQueue::new(INDEXES),
            charts: FairQueue::new(CHARTS),
        }
    }
}

/// In whose turn a repository is read: that of its host.
pub(crate) fn host_key(url: &str) -> QueueKey {
    QueueKey::new(url_host(url), url)
}

/// Host and port of a URL as they are written, in lower case. It decides nothing but turns.
pub(crate) fn url_host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.to_ascii_lowercase()
}

/// Why a repository is not read now.
pub(crate) fn describe_full(url: &str, full: QueueFull) -> String {
    format!("{url} is not read now, because {full}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_that_of_its_requests() {
        let hosts = [
            ("https://Git.Example.com/team/deploy.git", "git.example.com"),
            ("http://127.0.0.1:8080/charts", "127.0.0.1:8080"),
            ("oci://registry.example.com/charts/web", "registry.example.com"),
            ("https://user@git.example.com?x", "git.example.com"),
            ("https://[::1]:80/a@b", "[::1]:80"),
        ];
        for (url, host) in hosts {
            assert_eq!(url_host(url), host, "{url}");
        }
    }

    #[test]
    fn no_host_can_have_every_place() {
        for QueueLimits { running, running_of_group, .. } in [COMMITS, REFS, INDEXES, CHARTS] {
            assert!(running_of_group < running);
        }
    }
}
