//! Secrets from files: on a command line, other users of the machine could see them. So are templates, which have several lines.

use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// Most bytes of a file with a secret, or with keys.
const MAX_SECRET_BYTES: u64 = 64 << 10;

/// The secret in a file, or on standard input for `-`.
pub fn read_secret(path: &Path) -> Result<String, Failure> {
    read_only(path, "secret")
}

/// The template of a channel in a file, or on standard input for `-`.
pub fn read_template(path: &Path) -> Result<String, Failure> {
    read_only(path, "template")
}

/// The text of a file that contains nothing else, without line ends at its end.
fn read_only(path: &Path, what: &str) -> Result<String, Failure> {
    let shown = path.display();
    let hint = format!("Name a file that contains only the {what}.");
    let failed = |error: io::Error| Failure::new(format!("{shown} can't be read: {error}."), hint.as_str());
    let mut text = String::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().take(MAX_SECRET_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    }
    if text.len() as u64 > MAX_SECRET_BYTES {
        let message = format!("{shown} has more than {} KiB.", MAX_SECRET_BYTES >> 10);
        return Err(Failure::usage(message, hint));
    }
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Failure::usage(format!("{shown} is empty."), format!("Write the {what} into it.")));
    }
    Ok(text.to_owned())
}
