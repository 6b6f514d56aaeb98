//! Wrapping keys: they encrypt the data keys and are never stored in the database.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use domain::Digest;
use sealing::{Cipher, KEY_BYTES, generate_key};
use tokio::io::AsyncWriteExt as _;

use crate::open::open_private_file;

/// Prefix of a key in a file or a variable.
const KEY_PREFIX: &str = "flotilla-key-1:";
/// Name of the wrapping key of a command.
const COMMAND_KEY: &str = "command";
/// Longest run of a key command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the wrapping keys come from. The first key wraps, all of them unwrap.
#[derive(Clone)]
pub enum KeySource {
    /// A file with one key a line; created with a new key if it is missing and the database has no data key yet.
    File(PathBuf),
    /// The keys themselves, separated by white space or commas.
    Value(String),
    /// A command that is called with `wrap` or `unwrap`, reads base64 and writes base64, such as a client of a key management service.
    Command(PathBuf),
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySource({self})")
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Value(_) => f.write_str("the given value (FLOTILLA_KEY)"),
            Self::Command(path) => write!(f, "the command {}", path.display()),
        }
    }
}

/// Why a data key can't be wrapped or unwrapped. No variant contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key file can't be read or written.
    #[error("the key file {path} can't be used: {source}")]
    File {
        /// The path.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The key file is missing although the database was encrypted with its key.
    #[error(
        "the database is encrypted, and its key file {path} is missing: restore the file, or name it with --key-file; without the \
         wrapping key {wrapping_key} no encrypted value can be read"
    )]
    FileMissing {
        /// The path.
        path: String,
        /// The id of the wrapping key.
        wrapping_key: String,
    },
    /// The text is no list of keys.
    #[error(
        "{keys} has no valid key in line {line}: a key is {KEY_PREFIX} and 43 characters; `flotilla-server keys generate` prints a new one"
    )]
    Invalid {
        /// Where the keys come from.
        keys: String,
        /// The number of the line, or of the key in a value.
        line: usize,
    },
    /// The wrapping key of a data key is not among the given ones.
    #[error(
        "data key {data_key} is wrapped with the key {wrapping_key}, which {keys} does not have ({found}): give this server the key that \
         the database was encrypted with"
    )]
    OtherKey {
        /// The id of the data key.
        data_key: String,
        /// The id of its wrapping key.
        wrapping_key: String,
        /// Where the given keys come from.
        keys: String,
        /// The ids of the given keys.
        found: String,
    },
    /// The wrapped data key is damaged.
    #[error("row {data_key} of data_key can't be unwrapped with the key {wrapping_key}: it is damaged")]
    Damaged {
        /// The id of the data key.
        data_key: String,
        /// The id of its wrapping key.
        wrapping_key: String,
    },
    /// The command failed.
    #[error("the key command {command} {action} failed: {why}")]
    Command {
        /// The command.
        command: String,
        /// What it was called with.
        action: &'static str,
        /// Why; not its output, which may contain a key.
        why: String,
    },
}

/// A new wrapping key, as it is written to a key file.
pub fn generate_wrapping_key() -> String {
    format!("{KEY_PREFIX}{}", STANDARD_NO_PAD.encode(generate_key()))
}

/// A wrapping key in memory.
pub(crate) struct WrappingKey {
    id: String,
    cipher: Cipher,
}

impl WrappingKey {
    fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD_NO_PAD.decode(text.strip_prefix(KEY_PREFIX)?).ok()?;
        let key: [u8; KEY_BYTES] = bytes.try_into().ok()?;
        let digest = Digest::compute(&[&b"flotilla wrapping key"[..], &key].concat()).to_string();
        let id = digest.trim_start_matches("sha256:").chars().take(12).collect();
        Some(Self { id, cipher: Cipher::new(&key) })
    }
}

/// The wrapping keys of a source, read once.
pub(crate) enum WrappingKeys {
    Local { keys: Vec<WrappingKey>, source: String },
    Command(PathBuf),
}

/// What is authenticated with a wrapped data key.
fn place(data_key: &str) -> Vec<u8> {
    [b"flotilla data key ", data_key.as_bytes()].concat()
}

impl KeySource {
    /// Reads the keys. `wrapping_key` is the wrapping key of an existing data key: without one, a missing file is created.
    pub(crate) fn read(&self, wrapping_key: Option<&str>) -> Result<WrappingKeys, KeyError> {
        let text = match self {
            Self::Command(path) => return Ok(WrappingKeys::Command(path.clone())),
            Self::Value(text) => text.clone(),
            Self::File(path) => read_key_file(path, wrapping_key)?,
        };
        let source = self.to_string();
        let invalid = |line: usize| KeyError::Invalid { keys: source.clone(), line };
        let mut keys = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'))
        {
            for one in line.split([',', ' ', '\t', '\r']).filter(|one| !one.is_empty()) {
                keys.push(WrappingKey::parse(one).ok_or_else(|| invalid(number + 1))?);
            }
        }
        if keys.is_empty() { Err(invalid(1)) } else { Ok(WrappingKeys::Local { keys, source }) }
    }
}

fn read_key_file(path: &Path, wrapping_key: Option<&str>) -> Result<String, KeyError> {
    let failed = |source: std::io::Error| KeyError::File { path: path.display().to_string(), source };
    match (std::fs::read_to_string(path), wrapping_key) {
        (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => {
            create_key_file(path).map_err(failed)?;
            std::fs::read_to_string(path).map_err(failed)
        }
        (Err(error), Some(wrapping_key)) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(KeyError::FileMissing {
                path: path.display().to_string(),
                wrapping_key: wrapping_key.to_owned(),
            })
        }
        (read, _) => read.map_err(failed),
    }
}

/// Creates the file with a new key, complete or not at all, readable by its owner only.
fn create_key_file(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let temporary = path.with_extension("new");
    let mut file = open_private_file(&temporary).map_err(std::io::Error::other)?;
    file.set_len(0)?;
    let note = "# Wrapping keys of Flotilla. Back this file up, apart from the database: without it no encrypted value can be read.";
    writeln!(file, "{note}\n{}", generate_wrapping_key())?;
    file.sync_all()?;
    // A concurrent start must not replace a key that is in use already.
    match std::fs::hard_link(&temporary, path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    std::fs::remove_file(&temporary)?;
    tracing::info!(file = %path.display(), "created the key file; back it up, apart from the database");
    Ok(())
}

impl WrappingKeys {
    /// The id of the key that wraps.
    pub(crate) fn current(&self) -> String {
        match self {
            Self::Local { keys, .. } => keys[0].id.clone(),
            Self::Command(_) => COMMAND_KEY.to_owned(),
        }
    }

    /// The wrapped data key, as text.
    pub(crate) async fn wrap(&self, data_key: &str, key: &[u8; KEY_BYTES]) -> Result<String, KeyError> {
        match self {
            Self::Local { keys, .. } => {
                Ok(STANDARD_NO_PAD.encode(keys[0].cipher.encrypt(&place(data_key), key)))
            }
            Self::Command(path) => run_command(path, "wrap", &STANDARD_NO_PAD.encode(key)).await,
        }
    }

    /// The data key.
    pub(crate) async fn unwrap(
        &self,
        data_key: &str,
        wrapping_key: &str,
        wrapped: &str,
    ) -> Result<[u8; KEY_BYTES], KeyError> {
        let damaged =
            || KeyError::Damaged { data_key: data_key.to_owned(), wrapping_key: wrapping_key.to_owned() };
        let other = |keys: String, found: String| KeyError::OtherKey {
            data_key: data_key.to_owned(),
            wrapping_key: wrapping_key.to_owned(),
            keys,
            found,
        };
        let key = match self {
            Self::Local { keys, source } => {
                let ids = || keys.iter().map(|key| key.id.as_str()).collect::<Vec<_>>().join(", ");
                let key = keys.iter().find(|key| key.id == wrapping_key);
                let key = key.ok_or_else(|| other(source.clone(), ids()))?;
                let wrapped = STANDARD_NO_PAD.decode(wrapped).map_err(|_| damaged())?;
                key.cipher.decrypt(&place(data_key), &wrapped).ok_or_else(damaged)?
            }
            Self::Command(path) if wrapping_key == COMMAND_KEY => {
                let text = run_command(path, "unwrap", wrapped).await?;
                STANDARD_NO_PAD.decode(text.trim_end_matches('=')).map_err(|_| damaged())?
            }
            Self::Command(path) => {
                let command = format!("the command {}", path.display());
                return Err(other(command, COMMAND_KEY.to_owned()));
            }
        };
        key.try_into().map_err(|_| damaged())
    }
}

/// Runs the command with one argument, and one line as input; returns the line that it writes.
async fn run_command(path: &Path, action: &'static str, input: &str) -> Result<String, KeyError> {
    let failed = |why: String| KeyError::Command { command: path.display().to_string(), action, why };
    let mut command = tokio::process::Command::new(path);
    command.arg(action).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.kill_on_drop(true).spawn().map_err(|error| failed(error.to_string()))?;
    let run = async {
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(format!("{input}\n").as_bytes()).await?;
        }
        child.wait_with_output().await
    };
    let output = tokio::time::timeout(COMMAND_TIMEOUT, run).await;
    let output = output.map_err(|_| failed("it did not end in time".to_owned()))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    let text = String::from_utf8(output.stdout).map_err(|_| failed("its output is not text".to_owned()))?;
    match text.trim() {
        "" => Err(failed("it wrote nothing".to_owned())),
        text => Ok(text.to_owned()),
    }
}
