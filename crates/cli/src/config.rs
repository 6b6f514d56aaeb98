//! The context file: the servers and API tokens of a user. Written by `flotilla login`.
//!
//! It contains secrets: it is created readable for its owner only, replaced atomically, and never printed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Upper limit of a context file, in bytes; a real one has a few lines.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The contents of the file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextFile {
    /// Name of the context used when no flag or variable names one.
    #[serde(default)]
    pub current: String,
    /// The contexts by name.
    #[serde(default)]
    pub contexts: BTreeMap<String, ServerContext>,
}

/// One server and its credentials.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerContext {
    /// Address of the server.
    pub server: String,
    /// API token; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token: String,
}

impl ContextFile {
    /// Reads the file; a missing file reads as an empty one.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(read_error(path, &error.to_string())),
        };
        let mut text = String::new();
        file.take(MAX_FILE_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| read_error(path, &error.to_string()))?;
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // The parser's message quotes the text, which contains tokens.
        serde_saphyr::from_str(&text).map_err(|error| {
            let place = error.location().map(|at| format!(" at line {}", at.line())).unwrap_or_default();
            read_error(path, &format!("it is not a context file{place}"))
        })
    }

    /// Writes the file atomically, readable for its owner only: a concurrent reader gets the old or the new contents.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_saphyr::to_string(self).map_err(|error| write_error(path, &error.to_string()))?;
        write_atomically(path, text.as_bytes()).map_err(|error| write_error(path, &error.to_string()))
    }

    /// The context with this name, or the current one.
    pub fn context(&self, name: Option<&str>) -> Option<(&str, &ServerContext)> {
        let name = name.unwrap_or(&self.current);
        self.contexts.get_key_value(name).map(|(name, context)| (name.as_str(), context))
    }
}

/// The path of the file: `given`, or the default below the user's configuration folder.
pub fn config_path(given: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| folder("APPDATA").filter(|_| cfg!(windows)))
        .or_else(|| folder("HOME").map(|home| home.join(".config")));
    match base {
        Some(base) => Ok(base.join("flotilla").join("config.yaml")),
        None => Err(Failure::new(
            "There is no home folder for the context file (HOME is not set).",
            "Set its path with --config FILE or FLOTILLA_CONFIG.",
        )),
    }
}

/// Whether other users of this machine can read the file.
#[cfg(unix)]
pub fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// Whether other users of this machine can read the file.
#[cfg(not(unix))]
pub fn is_readable_by_others(_: &Path) -> bool {
    false
}

fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&new, path));
    if done.is_err() {
        let _ = fs::remove_file(&new);
    }
    done
}

fn read_error(path: &Path, why: &str) -> Failure {
    Failure::new(
        format!("The context file {} can't be read: {why}.", path.display()),
        "Correct it, or remove it and run \"flotilla login\".",
    )
}

fn write_error(path: &Path, why: &str) -> Failure {
    Failure::new(
        format!("The context file {} can't be written: {why}.", path.display()),
        "Set another path with --config FILE or FLOTILLA_CONFIG.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_file() -> ContextFile {
        let context = ServerContext { server: "https://flotilla.example".into(), token: "flt_secret".into() };
        ContextFile { current: "prod".into(), contexts: [("prod".to_owned(), context)].into() }
    }

    #[test]
    fn a_written_file_is_read_back_and_is_readable_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/config.yaml");
        example_file().write(&path).unwrap();
        example_file().write(&path).unwrap();
        let read = ContextFile::read(&path).unwrap();
        assert_eq!(read.context(None).unwrap().1.token, "flt_secret");
        assert!(read.context(Some("other")).is_none());
        assert!(!is_readable_by_others(&path));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file remains");
    }

    #[test]
    fn the_error_of_an_invalid_file_names_the_line_and_not_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        fs::write(&path, "current: prod\ncontexts:\n  prod:\n    server: x\n    token: [flt_secret\n")
            .unwrap();
        let Some(Failure::Report(report)) = ContextFile::read(&path).err() else { panic!("not a report") };
        assert!(report.message.contains("at line "), "{}", report.message);
        assert!(!report.message.contains("flt_secret"));
    }

    #[test]
    fn a_missing_file_reads_as_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ContextFile::read(&folder.path().join("none")).unwrap().contexts.is_empty());
    }
}
