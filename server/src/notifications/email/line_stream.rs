//! A connection that is read line by line.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 4_096;

/// A connection of which one read returns at most one line. The client has no answer in its buffer beyond the one that it waits for, so
/// that what somebody appends in clear to the answer to STARTTLS is not taken for an answer inside TLS: it reaches the handshake, which
/// fails.
#[derive(Debug)]
pub(super) struct LineStream {
    socket: TcpStream,
    /// What was received and not read yet, at most one chunk.
    buffer: Vec<u8>,
}

impl LineStream {
    /// The same connection.
    pub(super) const fn new(socket: TcpStream) -> Self {
        Self { socket, buffer: Vec::new() }
    }
}

impl AsyncRead for LineStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.buffer.is_empty() {
            let mut bytes = [0_u8; CHUNK_BYTES];
            let mut chunk = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.socket).poll_read(context, &mut chunk))?;
            this.buffer.extend_from_slice(chunk.filled());
        }
        let line_end = this.buffer.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let count = line_end.unwrap_or(this.buffer.len()).min(target.remaining());
        target.put_slice(&this.buffer[..count]);
        this.buffer.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for LineStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

impl AsyncTokioStream for LineStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }
}
