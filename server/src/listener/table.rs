//! The open connections of a listener: who they belong to, and since when they wait.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use domain::ClusterId;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::ConnectionLimits;
use crate::client_address::{TrustedProxies, client_network};

/// Whose connections are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ClientKey {
    /// Clients without a certificate, by [`client_network`] their address.
    Network(IpAddr),
    /// The agent of a cluster.
    Agent(ClusterId),
    /// Reverse proxies.
    Proxy,
}

impl ClientKey {
    const fn has_no_certificate(self) -> bool {
        matches!(self, Self::Network(_))
    }
}

/// Why the requests of a connection are answered with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionRefusal {
    /// The listener has [`ConnectionLimits::max_connections`].
    Listener,
    /// It has [`ConnectionLimits::max_without_certificate`].
    WithoutCertificate,
    /// The client has as many as it may.
    Client {
        /// How many that is.
        limit: usize,
    },
}

/// What happened to the connections of a listener since it was bound.
#[derive(Debug, Default)]
pub struct ConnectionStatistics {
    /// Connections that are open.
    pub open: AtomicU64,
    /// Waiting connections that were closed for new ones.
    pub closed: AtomicU64,
    /// Connections that were answered with an error or closed at once.
    pub refused: AtomicU64,
}

/// The open connections of a listener.
#[derive(Clone)]
pub struct ConnectionTable(Arc<TableInner>);

struct TableInner {
    limits: TableLimits,
    rows: Mutex<TableRows>,
    statistics: Arc<ConnectionStatistics>,
}

struct TableLimits {
    total: usize,
    reserve: usize,
    without_certificate: usize,
    per_network: usize,
    per_agent: usize,
    proxies: TrustedProxies,
}

#[derive(Default)]
struct TableRows {
    last_id: u64,
    connections: HashMap<u64, ConnectionRow>,
    waiting: WaitingSet,
    clients: HashMap<ClientKey, ClientRow>,
    /// The connections of all clients without a certificate.
    without_certificate: ClientRow,
}

/// Connections by the time since when they wait.
type WaitingSet = BTreeSet<(Instant, u64)>;

struct ConnectionRow {
    client: ClientKey,
    waiting_since: Option<Instant>,
    closed: CancellationToken,
}

#[derive(Default)]
struct ClientRow {
    connections: usize,
    waiting: WaitingSet,
}

impl ConnectionTable {
    /// An empty table.
    pub fn new(limits: &ConnectionLimits) -> Self {
        let limits = TableLimits {
            total: limits.max_connections,
            reserve: limits.reserve(),
            without_certificate: limits.max_without_certificate,
            per_network: limits.max_per_address,
            per_agent: limits.max_per_agent,
            proxies: limits.proxies.clone(),
        };
        Self(Arc::new(TableInner { limits, rows: Mutex::default(), statistics: Arc::default() }))
    }

    /// What happened to its connections.
    pub fn statistics(&self) -> &Arc<ConnectionStatistics> {
        &self.0.statistics
    }

    /// Adds a connection, which waits. At a limit it takes the place of the one that has waited longest. `None` if none waits
    /// and the reserve is used up, too: the connection has to be closed.
    pub fn admit(&self, address: IpAddr) -> Option<ConnectionEntry> {
        let inner = &self.0;
        let client = match inner.limits.proxies.contains(address) {
            true => ClientKey::Proxy,
            false => ClientKey::Network(client_network(address)),
        };
        let mut rows = inner.rows.lock();
        let mut refusal = inner.make_room_for_client(&mut rows, client);
        if inner.has_too_many_without_certificate(&rows, client, 0) {
            let longest = rows.without_certificate.waiting.first().copied();
            if !inner.close_waiting(&mut rows, longest) {
                refusal = Some(ConnectionRefusal::WithoutCertificate);
            }
        }
        if rows.connections.len() >= inner.limits.total {
            let longest = rows.waiting.first().copied();
            if !inner.close_waiting(&mut rows, longest) {
                refusal = Some(ConnectionRefusal::Listener);
            }
        }
        let is_full = rows.connections.len() >= inner.limits.total + inner.limits.reserve
            || inner.has_too_many_without_certificate(&rows, client, inner.limits.reserve)
            || rows.count(client) >= inner.limits.client_limit(client).saturating_add(inner.limits.reserve);
        if refusal.is_some() || is_full {
            inner.statistics.refused.fetch_add(1, Relaxed);
        }
        if is_full {
            return None;
        }
        rows.last_id += 1;
        let (id, closed) = (rows.last_id, CancellationToken::new());
        rows.connections.insert(id, ConnectionRow { client, waiting_since: None, closed: closed.clone() });
        rows.join_client(client);
        rows.set_waiting(id, true);
        inner.statistics.open.store(rows.connections.len() as u64, Relaxed);
        drop(rows);
        Some(ConnectionEntry { table: self.clone(), id, closed, refusal: Mutex::new(refusal) })
    }

    /// Closes the connection that has waited longest, if any waits.
    pub fn close_longest_waiting(&self) {
        let mut rows = self.0.rows.lock();
        let longest = rows.waiting.first().copied();
        self.0.close_waiting(&mut rows, longest);
    }
}

impl TableLimits {
    fn client_limit(&self, client: ClientKey) -> usize {
        match client {
            ClientKey::Network(_) => self.per_network,
            ClientKey::Agent(_) => self.per_agent,
            ClientKey::Proxy => usize::MAX,
        }
    }
}

impl TableInner {
    fn make_room_for_client(&self, rows: &mut TableRows, client: ClientKey) -> Option<ConnectionRefusal> {
        let limit = self.limits.client_limit(client);
        if rows.count(client) < limit {
            return None;
        }
        let longest = rows.clients.get(&client).and_then(|client| client.waiting.first().copied());
        (!self.close_waiting(rows, longest)).then_some(ConnectionRefusal::Client { limit })
    }

    /// Whether a client without a certificate may not have another connection, with so many beyond the limit.
    fn has_too_many_without_certificate(&self, rows: &TableRows, client: ClientKey, reserve: usize) -> bool {
        let limit = self.limits.without_certificate.saturating_add(reserve);
        client.has_no_certificate() && rows.without_certificate.connections >= limit
    }

    /// Closes this connection, which waits. Returns whether there is one.
    fn close_waiting(&self, rows: &mut TableRows, waiting: Option<(Instant, u64)>) -> bool {
        let Some((_, id)) = waiting else { return false };
        if let Some(row) = rows.remove(id) {
            row.closed.cancel();
            self.statistics.closed.fetch_add(1, Relaxed);
        }
        true
    }
}

impl TableRows {
    fn count(&self, client: ClientKey) -> usize {
        self.clients.get(&client).map_or(0, |client| client.connections)
    }

    fn set_waiting(&mut self, id: u64, waits: bool) {
        let Some(row) = self.connections.get_mut(&id) else { return };
        let client = self.clients.entry(row.client).or_default();
        let has_no_certificate = row.client.has_no_certificate();
        if let Some(since) = row.waiting_since.take() {
            self.waiting.remove(&(since, id));
            client.waiting.remove(&(since, id));
            self.without_certificate.waiting.remove(&(since, id));
        }
        if waits {
            let now = Instant::now();
            row.waiting_since = Some(now);
            self.waiting.insert((now, id));
            client.waiting.insert((now, id));
            if has_no_certificate {
                self.without_certificate.waiting.insert((now, id));
            }
        }
    }

    fn remove(&mut self, id: u64) -> Option<ConnectionRow> {
        self.set_waiting(id, false);
        let row = self.connections.remove(&id)?;
        self.leave_client(row.client);
        Some(row)
    }

    fn join_client(&mut self, key: ClientKey) {
        self.clients.entry(key).or_default().connections += 1;
        if key.has_no_certificate() {
            self.without_certificate.connections += 1;
        }
    }

    fn leave_client(&mut self, key: ClientKey) {
        if key.has_no_certificate() {
            self.without_certificate.connections -= 1;
        }
        if let Some(client) = self.clients.get_mut(&key) {
            client.connections -= 1;
            if client.connections == 0 {
                self.clients.remove(&key);
            }
        }
    }
}

/// A connection in the table, until it is dropped.
pub struct ConnectionEntry {
    table: ConnectionTable,
    id: u64,
    closed: CancellationToken,
    refusal: Mutex<Option<ConnectionRefusal>>,
}

impl ConnectionEntry {
    /// Counts the connection under the cluster in its certificate instead of its address.
    pub fn set_cluster(&self, cluster: ClusterId) {
        let (inner, client) = (&self.table.0, ClientKey::Agent(cluster));
        let mut rows = inner.rows.lock();
        // Its address has no limit for it, and it has a certificate.
        let is_refused_for_address = matches!(
            *self.refusal.lock(),
            Some(ConnectionRefusal::Client { .. } | ConnectionRefusal::WithoutCertificate)
        );
        let refusal = inner.make_room_for_client(&mut rows, client);
        if refusal.is_some() {
            inner.statistics.refused.fetch_add(1, Relaxed);
        }
        if refusal.is_some() || is_refused_for_address {
            *self.refusal.lock() = refusal;
        }
        rows.set_waiting(self.id, false);
        let Some(row) = rows.connections.get_mut(&self.id) else { return };
        let before = std::mem::replace(&mut row.client, client);
        rows.leave_client(before);
        rows.join_client(client);
        rows.set_waiting(self.id, true);
    }

    /// Why its requests are refused, if they are.
    pub fn refusal(&self) -> Option<ConnectionRefusal> {
        *self.refusal.lock()
    }

    /// A part of a request has arrived, and the connection waits for the next one since now. Returns whether it is still in the table.
    pub fn receive_part(&self) -> bool {
        let mut rows = self.table.0.rows.lock();
        rows.set_waiting(self.id, true);
        rows.connections.contains_key(&self.id)
    }

    /// A request is complete. Returns whether the connection is still in the table.
    pub fn begin_request(&self) -> bool {
        let mut rows = self.table.0.rows.lock();
        rows.set_waiting(self.id, false);
        rows.connections.contains_key(&self.id)
    }

    /// The response was sent.
    pub fn end_request(&self) {
        self.table.0.rows.lock().set_waiting(self.id, true);
    }

    /// Returns when the connection has to be closed for another.
    pub async fn wait_until_closed(&self) {
        self.closed.cancelled().await;
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        let mut rows = self.table.0.rows.lock();
        rows.remove(self.id);
        self.table.0.statistics.open.store(rows.connections.len() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(total: usize, per_address: usize, per_agent: usize) -> ConnectionTable {
        ConnectionTable::new(&ConnectionLimits {
            max_connections: total,
            max_per_address: per_address,
            max_per_agent: per_agent,
            proxies: TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]),
            ..ConnectionLimits::console()
        })
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn busy(table: &ConnectionTable, from: IpAddr) -> ConnectionEntry {
        let entry = table.admit(from).unwrap();
        assert!(entry.begin_request());
        entry
    }

    #[test]
    fn p20_the_connection_that_has_waited_longest_is_closed_for_a_new_one() {
        let table = table(3, 10, 10);
        let served = busy(&table, address(1));
        let (first, second) = (table.admit(address(1)).unwrap(), table.admit(address(2)).unwrap());
        let third = table.admit(address(3)).unwrap();
        assert!(first.closed.is_cancelled() && !first.begin_request());
        assert!(!second.closed.is_cancelled() && third.refusal().is_none());
        drop(first);
        assert_eq!(table.statistics().open.load(Relaxed), 3);
        drop((served, second, third));
        assert_eq!(table.statistics().open.load(Relaxed), 0);
        assert!(table.0.rows.lock().clients.is_empty() && table.0.rows.lock().waiting.is_empty());
    }

    #[test]
    fn p20_connections_that_serve_requests_are_not_closed_and_the_next_are_refused() {
        let table = table(2, 10, 10);
        let served = [busy(&table, address(1)), busy(&table, address(2))];
        let refused = [busy(&table, address(3)), busy(&table, address(3))];
        assert!(refused.iter().all(|entry| entry.refusal() == Some(ConnectionRefusal::Listener)));
        assert!(table.admit(address(4)).is_none(), "the reserve is used up");
        served[0].end_request();
        assert!(table.admit(address(4)).is_some_and(|entry| entry.refusal().is_none()));
        assert!(served[0].closed.is_cancelled() && !served[1].closed.is_cancelled());
        assert_eq!(table.statistics().refused.load(Relaxed), 3);
    }

    #[test]
    fn p20_an_address_has_a_limit_of_its_own_from_which_proxies_are_exempt() {
        let table = table(100, 2, 10);
        let from: [IpAddr; 2] = ["2001:db8::1", "2001:db8::2:1"].map(|text| text.parse().unwrap());
        let _served = [busy(&table, from[0]), busy(&table, from[1])];
        assert_eq!(
            busy(&table, from[0]).refusal(),
            Some(ConnectionRefusal::Client { limit: 2 }),
            "one /64 network"
        );
        assert!(busy(&table, address(1)).refusal().is_none());
        let proxied: Vec<_> = (0..20).map(|_| busy(&table, IpAddr::from([10, 0, 0, 7]))).collect();
        assert!(proxied.iter().all(|entry| entry.refusal().is_none()));
    }

    #[test]
    fn p20_agents_behind_one_address_have_limits_of_their_own() {
        let table = table(100, 2, 3);
        let mut open = Vec::new();
        for cluster in 0..10 {
            for _ in 0..3 {
                let entry = busy(&table, address(1));
                entry.set_cluster(ClusterId::from_parts(1, cluster));
                assert!(entry.begin_request() && entry.refusal().is_none());
                open.push(entry);
            }
        }
        let entry = busy(&table, address(1));
        entry.set_cluster(ClusterId::from_parts(1, 5));
        assert_eq!(entry.refusal(), Some(ConnectionRefusal::Client { limit: 3 }));
    }

    #[test]
    fn p20_connections_without_a_certificate_are_bounded_together_and_take_no_place_of_an_agent() {
        let table = ConnectionTable::new(&ConnectionLimits {
            max_connections: 100,
            max_without_certificate: 2,
            ..ConnectionLimits::agents()
        });
        let agent = table.admit(address(1)).unwrap();
        agent.set_cluster(ClusterId::from_parts(1, 1));
        let first = table.admit(address(2)).unwrap();
        let (second, third) = (table.admit(address(3)).unwrap(), table.admit(address(4)).unwrap());
        assert!(first.closed.is_cancelled(), "it has waited longest of those without a certificate");
        assert!(!agent.closed.is_cancelled() && !second.closed.is_cancelled());
        assert!(second.begin_request() && third.begin_request());
        let known = table.admit(address(5)).unwrap();
        assert_eq!(known.refusal(), Some(ConnectionRefusal::WithoutCertificate), "none of them waits");
        known.set_cluster(ClusterId::from_parts(1, 1));
        assert_eq!(known.refusal(), None, "a known agent is served");
        let mut refused = Vec::new();
        for last in 10..60 {
            let Some(entry) = table.admit(address(last)) else { continue };
            assert!(entry.begin_request());
            refused.push(entry);
        }
        assert_eq!(refused.len(), 12, "the reserve");
        drop((agent, first, second, third, known, refused));
        let rows = table.0.rows.lock();
        assert!(rows.clients.is_empty() && rows.without_certificate.waiting.is_empty());
        assert_eq!(rows.without_certificate.connections, 0);
    }
}
