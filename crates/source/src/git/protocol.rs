//! Version 2 of the Git protocol over HTTP or SSH: the two commands that reading needs, `ls-refs` and `fetch`.
//!
//! A request is encoded into bytes and a response is parsed from a bounded buffer; [`super::GitClient`] sends them.

use gix_packetline::PacketLineRef;
use gix_packetline::blocking_io::encode;
use gix_packetline::decode::{Stream, streaming};

use super::error::{GitError, GitErrorKind, shorten};

/// Blobs of more bytes are left out of a pack, if the server can do that.
const MAX_BLOB_BYTES: u64 = 10 << 20;
/// Ancestors that are looked at, if the server can send commits alone.
const MAX_HISTORY: u32 = 250;
/// Ancestors that are looked at, if the server sends all their files.
const MAX_UNFILTERED_HISTORY: u32 = 20;

/// What a server can do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// Whether `fetch` can leave out large blobs.
    filter: bool,
    /// Whether requests name the object format.
    object_format: bool,
}

/// A ref of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRef {
    /// Its full name, such as `refs/heads/main`; `HEAD` for the default branch.
    pub name: String,
    /// The commit that it refers to, for an annotated tag that of the tag.
    pub commit: String,
}

/// The lines of a response.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<Option<PacketLineRef<'a>>, GitError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let invalid = || GitError::invalid("The response is not one of the Git protocol.");
        match streaming(self.rest).map_err(|_| invalid())? {
            Stream::Complete { line, bytes_consumed } => {
                self.rest = &self.rest[bytes_consumed..];
                match line.check_error() {
                    Some(error) => Err(server_error(error.0)),
                    None => Ok(Some(line)),
                }
            }
            Stream::Incomplete { .. } => Err(broken_off()),
        }
    }
}

fn broken_off() -> GitError {
    GitError::new(GitErrorKind::Unreachable, "The response of the Git server broke off.", "Try again later.")
}

/// What the server says in place of a result.
fn server_error(text: &[u8]) -> GitError {
    let text = shorten(String::from_utf8_lossy(text).trim());
    if text.contains("not our ref") {
        return GitError::new(
            GitErrorKind::NotFound,
            format!("The repository does not have the commit: {text:?}."),
            "Its history was rewritten, or the commit was never pushed. Choose a branch, or a commit that the repository has.",
        );
    }
    GitError::new(
        GitErrorKind::InvalidResponse,
        format!("The Git server responds {text:?}."),
        "Check the URL of the repository.",
    )
}

impl Capabilities {
    /// Reads the response to `info/refs?service=git-upload-pack`.
    pub(super) fn parse(body: &[u8]) -> Result<Self, GitError> {
        let mut lines = Lines { rest: body };
        let (mut is_version_2, mut read) = (false, Self::default());
        while let Some(line) = lines.next()? {
            let Some(text) = line.as_text() else { continue };
            let text = String::from_utf8_lossy(text.as_slice());
            match text.split_once('=') {
                _ if text == "version 2" => is_version_2 = true,
                Some(("fetch", features)) => {
                    read.filter = features.split(' ').any(|feature| feature == "filter");
                }
                Some(("object-format", "sha1")) => read.object_format = true,
                Some(("object-format", other)) => {
                    return Err(GitError::invalid(format!(
                        "The repository uses the object format {:?}; only sha1 is supported.",
                        shorten(other)
                    )));
                }
                _ => {}
            }
        }
        if is_version_2 {
            return Ok(read);
        }
        Err(GitError::invalid("The server does not speak version 2 of the Git protocol."))
    }

    /// The request for the refs with one of these prefixes.
    pub(super) fn encode_ls_refs(&self, prefixes: &[String]) -> Vec<u8> {
        let mut arguments = vec!["peel".to_owned()];
        arguments.extend(prefixes.iter().map(|prefix| format!("ref-prefix {prefix}")));
        self.encode_command("ls-refs", &arguments)
    }

    /// The request for one commit without its history.
    pub(super) fn encode_fetch(&self, commit: &str) -> Vec<u8> {
        let mut arguments: Vec<String> = ["no-progress", "ofs-delta", "deepen 1"].map(str::to_owned).to_vec();
        arguments.push(format!("want {commit}"));
        if self.filter {
            arguments.push(format!("filter blob:limit={MAX_BLOB_BYTES}"));
        }
        arguments.push("done".to_owned());
        self.encode_command("fetch", &arguments)
    }

    /// The request for a commit with its last ancestors: only the commits, if the server can leave out everything else.
    pub(super) fn encode_history(&self, commit: &str) -> Vec<u8> {
        let depth = if self.filter { MAX_HISTORY } else { MAX_UNFILTERED_HISTORY };
        let mut arguments: Vec<String> = ["no-progress", "ofs-delta"].map(str::to_owned).to_vec();
        arguments.push(format!("deepen {depth}"));
        arguments.push(format!("want {commit}"));
        if self.filter {
            arguments.push("filter tree:0".to_owned());
        }
        arguments.push("done".to_owned());
        self.encode_command("fetch", &arguments)
    }

    fn encode_command(&self, command: &str, arguments: &[String]) -> Vec<u8> {
        let mut request = Vec::new();
        // Writes to a vector do not fail, and no line is longer than a packet.
        let mut line = |text: &str| encode::text_to_write(text.as_bytes(), &mut request).map(drop);
        let mut written = line(&format!("command={command}"));
        written = written.and(line(concat!("agent=flotilla/", env!("CARGO_PKG_VERSION"))));
        if self.object_format {
            written = written.and(line("object-format=sha1"));
        }
        written = written.and(encode::delim_to_write(&mut request).map(drop));
        for argument in arguments {
            written = written.and(encode::text_to_write(argument.as_bytes(), &mut request).map(drop));
        }
        written = written.and(encode::flush_to_write(&mut request).map(drop));
        debug_assert!(written.is_ok());
        request
    }
}

/// Reads the refs with one of these names from the response to `ls-refs`, which may list any others: a server can ignore the prefixes of
/// the request.
///
/// # Errors
/// The response is not one, or it broke off: then it is unknown whether the repository has the refs.
pub(super) fn parse_refs(body: &[u8], names: &[String]) -> Result<Vec<GitRef>, GitError> {
    let mut lines = Lines { rest: body };
    let mut refs = Vec::new();
    loop {
        let Some(line) = lines.next()? else { return Err(broken_off()) };
        let Some(text) = line.as_text() else { return Ok(refs) };
        let text = String::from_utf8_lossy(text.as_slice());
        let mut words = text.split(' ');
        let (Some(id), Some(name)) = (words.next(), words.next()) else { continue };
        let peeled = words.find_map(|word| word.strip_prefix("peeled:"));
        let commit = peeled.unwrap_or(id);
        // An unborn branch has no commit.
        if domain::remote::is_commit_id(commit) && names.iter().any(|wanted| wanted == name) {
            refs.push(GitRef { name: name.to_owned(), commit: commit.to_owned() });
        }
    }
}

/// The pack in the response to `fetch`. It replaces the response in its memory, of which there is enough for one of them.
pub(super) fn parse_pack(mut body: Vec<u8>) -> Result<Vec<u8>, GitError> {
    let mut lines = Lines { rest: &body };
    loop {
        match lines.next()? {
            Some(line) if line.as_text().is_some_and(|text| text.as_slice() == b"packfile") => break,
            Some(_) => {}
            None => return Err(GitError::invalid("The response of the Git server contains no pack.")),
        }
    }
    let mut at = body.len() - lines.rest.len();
    let mut written = 0;
    loop {
        let mut lines = Lines { rest: &body[at..] };
        let Some(line) = lines.next()? else { break };
        let end = body.len() - lines.rest.len();
        let Some(band) = line.as_slice() else { break };
        let bytes = match band.split_first() {
            Some((1, data)) => data.len(),
            Some((3, error)) => return Err(server_error(error)),
            _ => 0,
        };
        // The data is the end of its line.
        body.copy_within(end - bytes..end, written);
        written += bytes;
        at = end;
    }
    body.truncate(written);
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<u8> {
        texts.iter().flat_map(|text| format!("{:04x}{text}", text.len() + 4).into_bytes()).collect()
    }

    #[test]
    fn a_server_without_version_2_is_named_and_other_object_formats_too() {
        let body =
            lines(&["version 2\n", "ls-refs=unborn\n", "fetch=shallow filter\n", "object-format=sha1\n"]);
        let read = Capabilities::parse(&body).unwrap();
        assert_eq!(read, Capabilities { filter: true, object_format: true });
        let request = String::from_utf8(read.encode_fetch(&"a".repeat(40))).unwrap();
        assert!(
            request.contains("filter blob:limit=10485760\n") && request.ends_with("done\n0000"),
            "{request}"
        );
        let old = Capabilities::parse(&lines(&["1111 HEAD\n"])).unwrap_err();
        assert!(old.message.contains("version 2"), "{old}");
        assert!(Capabilities::parse(b"<html>").unwrap_err().message.contains("not one of the Git protocol"));
        let sha256 = Capabilities::parse(&lines(&["version 2\n", "object-format=sha256\n"]));
        assert!(sha256.unwrap_err().message.contains("sha256"));
    }

    #[test]
    fn an_annotated_tag_is_the_commit_that_it_names() {
        let (tag, commit) = ("a".repeat(40), "b".repeat(40));
        let body = [
            lines(&[
                &format!("{tag} refs/tags/v1 peeled:{commit}\n"),
                "unborn HEAD symref-target:refs/heads/main\n",
            ]),
            b"0000".to_vec(),
        ]
        .concat();
        let names = ["refs/tags/v1".to_owned()];
        assert_eq!(parse_refs(&body, &names).unwrap(), [GitRef { name: "refs/tags/v1".into(), commit }]);
    }

    #[test]
    fn a_named_ref_is_found_after_any_number_of_others_and_a_list_that_breaks_off_is_no_list() {
        let commit = "b".repeat(40);
        let others: Vec<String> = (0..5_000).map(|n| format!("{commit} refs/heads/other-{n}\n")).collect();
        let mut all: Vec<&str> = others.iter().map(String::as_str).collect();
        let last = format!("{commit} refs/heads/main\n");
        all.push(&last);
        let listed = lines(&all);
        let names = ["refs/heads/main".to_owned(), "refs/tags/main".to_owned()];
        let complete = [listed.clone(), b"0000".to_vec()].concat();
        let found = parse_refs(&complete, &names).unwrap();
        assert_eq!(found, [GitRef { name: "refs/heads/main".into(), commit }]);
        assert_eq!(parse_refs(&listed, &names).unwrap_err().kind, GitErrorKind::Unreachable);
        let first = lines(&all[..100]);
        assert_eq!(parse_refs(&first, &names).unwrap_err().kind, GitErrorKind::Unreachable);
    }

    #[test]
    fn a_pack_that_breaks_off_and_an_error_of_the_server_are_no_pack() {
        let complete =
            [lines(&["packfile\n", "\u{1}PA", "\u{2}progress", "\u{1}CK"]), b"0000".to_vec()].concat();
        assert_eq!(parse_pack(complete.clone()).unwrap(), b"PACK");
        let broken = parse_pack(complete[..complete.len() - 7].to_vec()).unwrap_err();
        assert_eq!(broken.kind, GitErrorKind::Unreachable, "{broken}");
        let missing = parse_pack(lines(&["ERR upload-pack: not our ref 1234"])).unwrap_err();
        assert_eq!(missing.kind, GitErrorKind::NotFound);
        assert!(parse_pack(lines(&["packfile\n", "\u{3}out of memory"])).is_err());
    }
}
