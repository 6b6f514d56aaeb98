//! A conversation with `git-upload-pack` over SSH: bounded in size, time and rate, as a response over HTTP is.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use domain::ssh_url::SshUrl;
use egress::{MinimumRate, RateWindow, TooSlow};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::messages::explain;
use super::not_started;
use crate::client_shares::{ClientReservation, FILES_OF_USERS};
use crate::git::error::{GitError, GitErrorKind};
use crate::git::protocol::Capabilities;
use crate::git::{MAX_PACK_BYTES, MAX_REFS_BYTES};
use crate::reserved_body::{BodyStream, read_reserved};
use crate::sandbox::Conversation;

/// What is read at once.
const PART_BYTES: usize = 64 << 10;
/// Most bytes of messages that are stored; further ones are read and dropped.
const MAX_MESSAGE_BYTES: usize = 64 << 10;
/// How long the last messages are awaited.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A conversation. It is ended when it is dropped.
#[derive(Debug)]
pub(in crate::git) struct SshSession {
    /// Killed before its folder is deleted.
    process: Conversation,
    input: Option<ChildStdin>,
    output: ChildStdout,
    messages: Arc<Mutex<Vec<u8>>>,
    message_reader: JoinHandle<()>,
    folder: TempDir,
    url: SshUrl,
    rate: MinimumRate,
    timeout: Duration,
    /// When all of it ends.
    deadline: Instant,
}

impl SshSession {
    /// Starts the program in its folder.
    pub(super) async fn start(
        command: Command,
        folder: TempDir,
        url: SshUrl,
        (rate, timeout): (MinimumRate, Duration),
    ) -> Result<Self, GitError> {
        let mut process = Conversation::start(command).await.map_err(|error| not_started(&error))?;
        let streams = process.take_streams();
        let (input, output, errors) =
            streams.ok_or_else(|| not_started(&std::io::Error::other("it has no streams")))?;
        let messages = Arc::<Mutex<Vec<u8>>>::default();
        let message_reader = tokio::spawn(read_messages(errors, messages.clone()));
        let deadline = Instant::now() + timeout;
        let input = Some(input);
        Ok(Self { process, input, output, messages, message_reader, folder, url, rate, timeout, deadline })
    }

    /// What the server can do, which it sends first.
    ///
    /// # Errors
    /// It can't be reached, is not trusted, refuses the key, or speaks another version of the protocol.
    pub(in crate::git) async fn read_capabilities(&mut self) -> Result<Capabilities, GitError> {
        let mut body = Vec::new();
        let mut response = self.response(MAX_REFS_BYTES);
        while response.read_into(&mut body).await? {}
        Capabilities::parse(&body).map_err(|error| match error.message.contains("version 2") {
            true => GitError {
                hint: "Let the SSH server accept the variable that selects the version: AcceptEnv GIT_PROTOCOL in sshd_config."
                    .to_owned(),
                ..error
            },
            false => error,
        })
    }

    /// The response to a command.
    ///
    /// # Errors
    /// It breaks off, or is too large or too slow.
    pub(in crate::git) async fn command(
        &mut self,
        bytes: &[u8],
        max_bytes: usize,
    ) -> Result<Vec<u8>, GitError> {
        self.send(bytes).await?;
        let mut body = Vec::new();
        let mut response = self.response(max_bytes);
        while response.read_into(&mut body).await? {}
        Ok(body)
    }

    /// The response to a command that is answered with a pack, with the reservation of its memory.
    ///
    /// # Errors
    /// As [`Self::command`]; there is no memory for it.
    pub(in crate::git) async fn fetch_pack(
        &mut self,
        bytes: &[u8],
    ) -> Result<(Vec<u8>, ClientReservation), GitError> {
        self.send(bytes).await?;
        let mut response = self.response(MAX_PACK_BYTES);
        read_reserved(&mut response, &FILES_OF_USERS).await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), GitError> {
        let Some(input) = &mut self.input else { return Err(self.explain_end().await) };
        let sent = timeout_at(self.deadline, async {
            input.write_all(bytes).await?;
            input.flush().await
        });
        match sent.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(self.explain_end().await),
            Err(_) => Err(self.timed_out()),
        }
    }

    fn response(&mut self, limit: usize) -> Response<'_> {
        let window = RateWindow::new(self.rate);
        let part = vec![0; PART_BYTES];
        Response {
            session: self,
            framing: Framing::default(),
            window,
            part,
            limit,
            received: 0,
            is_ended: false,
        }
    }

    /// Why the output ended early.
    async fn explain_end(&mut self) -> GitError {
        self.input = None;
        // What is printed last says why. A process that goes on is killed with this value.
        let ended = async {
            let _ = self.process.wait().await;
            let _ = (&mut self.message_reader).await;
        };
        let _ = timeout(END_TIMEOUT, ended).await;
        let messages = String::from_utf8_lossy(&self.messages.lock()).into_owned();
        explain(&messages, &self.url, self.folder.path())
    }

    fn timed_out(&self) -> GitError {
        GitError::new(
            GitErrorKind::Unreachable,
            format!("{} did not respond to its end within {} s.", self.url, self.timeout.as_secs()),
            "Check the address and the network of the server, and try again.",
        )
    }

    fn too_slow(&self, too_slow: TooSlow) -> GitError {
        GitError::new(
            GitErrorKind::Unreachable,
            format!("{}: the response is too slow: the server sent {too_slow}.", self.url),
            "Try again later; if it stays slow, use a mirror of the repository.",
        )
    }
}

/// One response: packet lines to the first flush packet.
struct Response<'s> {
    session: &'s mut SshSession,
    framing: Framing,
    window: RateWindow,
    part: Vec<u8>,
    limit: usize,
    received: usize,
    is_ended: bool,
}

impl BodyStream for Response<'_> {
    type Error = GitError;

    fn stated_bytes(&self) -> Option<usize> {
        None
    }

    async fn read_into(&mut self, body: &mut Vec<u8>) -> Result<bool, GitError> {
        if self.is_ended {
            return Ok(false);
        }
        let read = self.window.receive(self.session.output.read(&mut self.part));
        let Ok(read) = timeout_at(self.session.deadline, read).await else {
            return Err(self.session.timed_out());
        };
        let read = match read.map_err(|too_slow| self.session.too_slow(too_slow))? {
            Ok(read) if read > 0 => read,
            Ok(_) | Err(_) if self.framing.is_after_error() => return Ok(false),
            Ok(_) | Err(_) => return Err(self.session.explain_end().await),
        };
        self.window.record(read).map_err(|too_slow| self.session.too_slow(too_slow))?;
        self.received += read;
        if self.received > self.limit {
            let message = format!("{}: the response has more than {} bytes.", self.session.url, self.limit);
            let hint = "Use a repository without large files, or publish the content as a packed chart.";
            return Err(GitError::new(GitErrorKind::TooLarge, message, hint));
        }
        let part = self.part.get(..read).unwrap_or_default();
        match self.framing.advance(part)? {
            Some(end) if end < read => {
                return Err(GitError::invalid("The server sends more than was requested."));
            }
            ended => self.is_ended = ended.is_some(),
        }
        body.extend_from_slice(part);
        Ok(true)
    }
}

/// Where packet lines end, while they arrive in parts of any size.
#[derive(Debug, Default)]
struct Framing {
    header: [u8; 4],
    header_bytes: usize,
    /// What is left of the present line.
    left: usize,
    /// The beginning of the present or last line.
    beginning: Vec<u8>,
}

impl Framing {
    /// Reads a part; the bytes of it up to the end of the response, if that is in it.
    fn advance(&mut self, part: &[u8]) -> Result<Option<usize>, GitError> {
        let mut rest = part;
        while let Some((first, after)) = rest.split_first() {
            if self.left > 0 {
                let (line, after) = rest.split_at(self.left.min(rest.len()));
                let missing = 4_usize.saturating_sub(self.beginning.len());
                self.beginning.extend(line.iter().take(missing));
                self.left -= line.len();
                rest = after;
                continue;
            }
            self.header[self.header_bytes] = *first;
            self.header_bytes += 1;
            rest = after;
            if self.header_bytes == self.header.len() {
                self.header_bytes = 0;
                match parse_length(self.header) {
                    Some(0) => return Ok(Some(part.len() - rest.len())),
                    // Between the parts of a response, and after one.
                    Some(1 | 2) => {}
                    Some(length @ 4..) => {
                        self.left = length - 4;
                        self.beginning.clear();
                    }
                    Some(_) | None => {
                        return Err(GitError::invalid("The response is not one of the Git protocol."));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Whether the last line is complete and says why there is no response.
    fn is_after_error(&self) -> bool {
        self.left == 0 && self.header_bytes == 0 && self.beginning == b"ERR "
    }
}

fn parse_length(header: [u8; 4]) -> Option<usize> {
    let text =
        std::str::from_utf8(&header).ok().filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    usize::from_str_radix(text, 16).ok()
}

/// Stores the beginning of what is printed, and drops the rest, so that the program never waits for a reader.
async fn read_messages(mut errors: ChildStderr, messages: Arc<Mutex<Vec<u8>>>) {
    let mut part = vec![0; 4 << 10];
    while let Ok(read) = errors.read(&mut part).await {
        if read == 0 {
            return;
        }
        let mut messages = messages.lock();
        let room = MAX_MESSAGE_BYTES.saturating_sub(messages.len()).min(read);
        messages.extend(part.iter().take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_response_is_found_in_parts_of_any_size() {
        let response = b"000bversion0001000aERR x\n0000";
        for size in [1, 3, 7, response.len()] {
            let mut framing = Framing::default();
            let ends: Vec<bool> =
                response.chunks(size).map(|part| framing.advance(part).unwrap().is_some()).collect();
            let (last, before) = ends.split_last().unwrap();
            assert!(*last && !before.contains(&true), "{size}");
        }
        let mut framing = Framing::default();
        assert_eq!(framing.advance(b"0000more").unwrap(), Some(4));
        assert!(Framing::default().advance(b"<html>").is_err());
        assert!(Framing::default().advance(b"0003").is_err());
    }

    #[test]
    fn an_error_of_the_server_is_a_response_and_another_end_is_none() {
        let mut framing = Framing::default();
        framing.advance(b"000cERR gone").unwrap();
        assert!(framing.is_after_error());
        framing.advance(b"00").unwrap();
        assert!(!framing.is_after_error());
        let mut framing = Framing::default();
        framing.advance(b"000cERR go").unwrap();
        assert!(!framing.is_after_error());
    }
}
