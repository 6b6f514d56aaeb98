//! A connection that is read line by line, and not without end.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::{fmt, io};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 4_096;
/// Most bytes that a mail server may send over one connection: answers of a few lines, and in a connection that changes to TLS its
/// certificates. The client has no limit of its own for a line that does not end.
const MAX_RECEIVED_BYTES: usize = 256 << 10;

/// A connection of which one read returns at most one line. The client has no answer in its buffer beyond the one that it waits for, so
/// that what somebody appends in clear to the answer to STARTTLS is not taken for an answer inside TLS: it reaches the handshake, which
/// fails.
#[derive(Debug)]
pub(super) struct LineStream<S> {
    stream: S,
    address: SocketAddr,
    /// What was received and not read yet, at most one chunk.
    buffer: Vec<u8>,
    /// Bytes that may still be received.
    budget: usize,
}

impl<S> LineStream<S> {
    /// A connection to this address.
    pub(super) const fn new(stream: S, address: SocketAddr) -> Self {
        Self { stream, address, buffer: Vec::new(), budget: MAX_RECEIVED_BYTES }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LineStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.buffer.is_empty() {
            let mut bytes = [0_u8; CHUNK_BYTES];
            let mut chunk = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut chunk))?;
            let received = chunk.filled();
            let Some(rest) = this.budget.checked_sub(received.len()) else {
                let message = format!("it sent more than {MAX_RECEIVED_BYTES} bytes");
                return Poll::Ready(Err(io::Error::other(message)));
            };
            this.budget = rest;
            this.buffer.extend_from_slice(received);
        }
        let line_end = this.buffer.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let count = line_end.unwrap_or(this.buffer.len()).min(target.remaining());
        target.put_slice(&this.buffer[..count]);
        this.buffer.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LineStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + fmt::Debug> AsyncTokioStream for LineStream<S> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
