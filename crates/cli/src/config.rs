//! The context file: which servers this person speaks to, and with which token. Written by `flotilla login`.
//!
//! It holds secrets, so it is made readable for its owner alone, replaced as a whole, and never printed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// A context file is a few lines long.
const LARGEST: u64 = 1 << 20;

/// The contents of the file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the context used when nothing else is said.
    #[serde(default)]
    pub current: String,
    /// The contexts by name.
    #[serde(default)]
    pub contexts: BTreeMap<String, Context>,
}

/// One server and how to speak to it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// Address of the server.
    pub server: String,
    /// API token; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub token: String,
}

impl Config {
    /// Reads the file; one that is not there is an empty one.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(path, &error.to_string())),
        };
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text).map_err(|error| unreadable(path, &error.to_string()))?;
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // The parser's own message quotes the text, and the text holds tokens.
        serde_saphyr::from_str(&text).map_err(|error| {
            let place = error.location().map(|at| format!(" at line {}", at.line())).unwrap_or_default();
            unreadable(path, &format!("it is not a context file{place}"))
        })
    }

    /// Writes the file, readable for its owner alone; whoever reads it meanwhile sees the old one or the new one.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_saphyr::to_string(self).map_err(|error| unwritable(path, &error.to_string()))?;
        replace(path, text.as_bytes()).map_err(|error| unwritable(path, &error.to_string()))
    }

    /// The context with this name, or the current one.
    pub fn context(&self, name: Option<&str>) -> Option<(&str, &Context)> {
        let name = name.unwrap_or(&self.current);
        self.contexts.get_key_value(name).map(|(name, context)| (name.as_str(), context))
    }
}

/// Where the file is: `given`, or below the person's configuration folder.
pub fn path(given: Option<&Path>) -> Result<PathBuf, Failure> {
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
            "There is no home folder to keep the context file in (HOME is not set).",
            "Say where it is with --config FILE or FLOTILLA_CONFIG.",
        )),
    }
}

/// Whether others on this machine can read the file.
#[cfg(unix)]
pub fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0)
}

/// Whether others on this machine can read the file.
#[cfg(not(unix))]
pub fn is_open_to_others(_: &Path) -> bool {
    false
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
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

fn unreadable(path: &Path, why: &str) -> Failure {
    Failure::new(
        format!("The context file {} can't be read: {why}.", path.display()),
        "Correct it, or remove it and run \"flotilla login\".",
    )
}

fn unwritable(path: &Path, why: &str) -> Failure {
    Failure::new(
        format!("The context file {} can't be written: {why}.", path.display()),
        "Say where else it may be with --config FILE or FLOTILLA_CONFIG.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Config {
        let context = Context { server: "https://flotilla.example".into(), token: "flt_secret".into() };
        Config { current: "prod".into(), contexts: [("prod".to_owned(), context)].into() }
    }

    #[test]
    fn what_was_written_is_read_back_and_only_its_owner_can() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/config.yaml");
        example().write(&path).unwrap();
        example().write(&path).unwrap();
        let read = Config::read(&path).unwrap();
        assert_eq!(read.context(None).unwrap().1.token, "flt_secret");
        assert!(read.context(Some("other")).is_none());
        assert!(!is_open_to_others(&path));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left lying about");
    }

    #[test]
    fn a_broken_file_says_the_line_and_not_the_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        fs::write(&path, "current: prod\ncontexts:\n  prod:\n    server: x\n    token: [flt_secret\n")
            .unwrap();
        let told = Config::read(&path).err().unwrap().told(None).unwrap();
        assert!(told.message.contains("at line "), "{}", told.message);
        assert!(!told.message.contains("flt_secret"));
    }

    #[test]
    fn no_file_is_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Config::read(&folder.path().join("none")).unwrap().contexts.is_empty());
    }
}
