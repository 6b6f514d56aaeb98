//! The limits of a listener, and how many descriptors the system has for them.

use std::time::Duration;

use egress::MinimumRate;
use source::memory_limit::process_memory;

use crate::client_address::TrustedProxies;

/// Descriptors that are not for connections of clients: the database, files, and the API servers of a few clusters.
const OTHER_DESCRIPTORS: usize = 64;
/// What a connection needs while its head arrives, on the agents' listener with an unfinished record of TLS.
const CONNECTION_BYTES: u64 = 64 << 10;
/// So many connections without a client certificate are possible on every server.
const MIN_WITHOUT_CERTIFICATE: usize = 256;
/// So many connections of the console are possible on every server, if the options allow them.
const MIN_OF_CONSOLE: usize = 512;

/// Limits of the connections of one listener.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Open connections.
    pub max_connections: usize,
    /// Open connections of one address (of IPv6 a /64 network) without a client certificate; proxies are exempt.
    pub max_per_address: usize,
    /// Open connections of one agent, by the cluster in its certificate.
    pub max_per_agent: usize,
    /// Open connections without a client certificate, proxies excepted. Anyone can open them and retain a handshake and a head in memory.
    pub max_without_certificate: usize,
    /// Reverse proxies: their connections are those of many clients.
    pub proxies: TrustedProxies,
    /// Until a handshake is complete.
    pub handshake_timeout: Duration,
    /// From the handshake until the head of the first request is complete.
    pub header_timeout: Duration,
    /// From a response until the head of the next request is complete. Longer than clients and reverse proxies keep idle
    /// connections (reqwest 90 s, nginx 60 s), so that none of them sends a request while the server closes.
    pub idle_timeout: Duration,
    /// A client that reads responses more slowly is disconnected. The window is long, because a system may accept nothing for many
    /// seconds and then much at once.
    pub response_rate: MinimumRate,
}

impl ConnectionLimits {
    /// The defaults of the console's listener.
    pub fn console() -> Self {
        Self {
            max_connections: 4_096,
            max_per_address: 512,
            max_per_agent: usize::MAX,
            max_without_certificate: usize::MAX,
            proxies: TrustedProxies::default(),
            handshake_timeout: Duration::from_secs(3),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            response_rate: MinimumRate { bytes: 128 << 10, window: Duration::from_secs(30) },
        }
    }

    /// The defaults of the agents' listener. An agent has a stream, a request that waits for the desired state, and up to a
    /// dozen more while it fetches bundles.
    pub fn agents() -> Self {
        Self {
            max_connections: 32_768,
            max_per_address: 1_024,
            max_per_agent: 64,
            max_without_certificate: count_without_certificate(process_memory()),
            ..Self::console()
        }
    }

    /// Connections beyond [`Self::max_connections`] that are only answered with an error or by a health route.
    pub fn reserve(&self) -> usize {
        (self.max_connections / 8).clamp(2, 32)
    }
}

/// A limit for the console's connections: `wanted`, or as many as a sixteenth of the memory has room for. Anyone can open them, also
/// through a reverse proxy.
pub fn limit_by_memory(wanted: usize) -> usize {
    fit_console(wanted, process_memory())
}

fn fit_console(wanted: usize, memory: Option<u64>) -> usize {
    let possible = count_by_memory(memory).max(MIN_OF_CONSOLE);
    if possible < wanted {
        tracing::info!(
            "the memory of the server has room for {possible} connections of the console instead of {wanted}; {possible} is the limit"
        );
    }
    possible.min(wanted)
}

/// How many connections without a client certificate the agents' listener has at most.
fn count_without_certificate(memory: Option<u64>) -> usize {
    count_by_memory(memory).max(MIN_WITHOUT_CERTIFICATE)
}

/// How many connections have a sixteenth of this memory together. Those that anyone can open on both listeners thus have an eighth of it:
/// what the budgets for content leave (`source::memory_budget`).
fn count_by_memory(memory: Option<u64>) -> usize {
    let possible = memory.map_or(u64::MAX, |memory| memory / 16 / CONNECTION_BYTES);
    usize::try_from(possible).unwrap_or(usize::MAX)
}

/// The file descriptors of this process.
#[derive(Debug, Clone, Copy)]
pub struct DescriptorBudget(usize);

impl DescriptorBudget {
    /// Raises the soft limit to the hard limit, as far as the system allows it.
    pub fn raise() -> Self {
        let limit = rlimit::increase_nofile_limit(u64::MAX).unwrap_or_else(|error| {
            tracing::warn!(%error, "can't read how many files may be open; assuming 1024");
            1_024
        });
        Self(usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// A limit for the console's connections: `wanted`, or a quarter of the descriptors.
    pub fn limit_console(self, wanted: usize) -> usize {
        self.limit(wanted, 4, "--max-connections")
    }

    /// A limit for the agents' connections: `wanted`, or half of the descriptors.
    pub fn limit_agents(self, wanted: usize) -> usize {
        self.limit(wanted, 2, "--agent-max-connections")
    }

    fn limit(self, wanted: usize, share: usize, option: &str) -> usize {
        let possible = (self.0.saturating_sub(OTHER_DESCRIPTORS) / share).max(1);
        if possible < wanted {
            tracing::warn!(
                descriptors = self.0,
                "{option} is {wanted}, but the limit of open files allows {possible} connections; raise it (ulimit -n, LimitNOFILE)"
            );
        }
        possible.min(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p20_connections_that_anyone_can_open_have_a_part_of_the_memory_together() {
        assert_eq!(count_without_certificate(Some(1 << 30)), 1_024);
        assert_eq!(count_without_certificate(Some(1 << 20)), MIN_WITHOUT_CERTIFICATE);
        assert_eq!(count_without_certificate(None), usize::MAX);
        assert_eq!(fit_console(4_096, Some(1 << 30)), 1_024);
        assert_eq!(fit_console(4_096, Some(1 << 20)), MIN_OF_CONSOLE);
        assert_eq!(fit_console(100, Some(1 << 20)), 100);
        assert_eq!(fit_console(4_096, Some(8 << 30)), 4_096);
        assert_eq!(fit_console(4_096, None), 4_096);
    }

    #[test]
    fn p20_connections_leave_descriptors_for_the_database_and_the_other_listener() {
        let few = DescriptorBudget(128);
        assert_eq!((few.limit_console(4_096), few.limit_agents(32_768)), (16, 32));
        let many = DescriptorBudget(1 << 20);
        assert_eq!((many.limit_console(4_096), many.limit_agents(32_768)), (4_096, 32_768));
        assert_eq!(DescriptorBudget(10).limit_console(4_096), 1);
    }
}
