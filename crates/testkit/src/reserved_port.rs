//! A port that stays reserved, also while the program that listens on it is stopped.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A port of 127.0.0.1, bound but not listening: connections are refused until a program listens on it.
///
/// A port that was found by binding and closing a socket can be taken by another process before it is used. This socket
/// stays open. Programs that set `SO_REUSEADDR`, as tokio, Go and PostgreSQL do, can bind the port beside it, again after
/// every restart; the kernel gives it neither to a socket that requests any port nor to an outgoing connection.
pub struct ReservedPort {
    _socket: TcpSocket,
    address: SocketAddr,
}

impl ReservedPort {
    /// Reserves a free port until this is dropped.
    ///
    /// # Panics
    /// No port is free.
    pub fn reserve() -> ReservedPort {
        let socket = TcpSocket::new_v4().expect("a socket can be created");
        socket.set_reuseaddr(true).expect("a new socket can be configured");
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port is free");
        let address = socket.local_addr().expect("a bound socket has an address");
        ReservedPort { _socket: socket, address }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.address.port()
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn a_reserved_port_refuses_connections_until_a_listener_binds_it_and_again_after_that() {
        let port = ReservedPort::reserve();
        for _ in 0..3 {
            assert!(TcpStream::connect(port.address()).await.is_err());
            let listener = TcpListener::bind(port.address()).await.unwrap();
            TcpStream::connect(port.address()).await.unwrap();
            drop(listener);
        }
    }

    #[tokio::test]
    async fn a_reserved_port_is_never_chosen_for_another_socket() {
        let port = ReservedPort::reserve();
        for _ in 0..2_000 {
            assert_ne!(ReservedPort::reserve().number(), port.number());
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            assert_ne!(listener.local_addr().unwrap().port(), port.number());
        }
    }
}
