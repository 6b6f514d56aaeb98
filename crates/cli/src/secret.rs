//! Secrets from files: on a command line, other users of the machine could see them.

use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// Most bytes of a file with a secret, or with keys.
const MAX_SECRET_BYTES: u64 = 64 << 10;

/// The secret in a file, or on standard input for `-`.
pub fn read_secret(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let failed = |error: io::Error| {
        Failure::new(format!("{shown} can't be read: {error}."), "Name a file that contains only the secret.")
    };
    let mut text = String::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().take(MAX_SECRET_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    }
    if text.len() as u64 > MAX_SECRET_BYTES {
        let message = format!("{shown} has more than {} KiB.", MAX_SECRET_BYTES >> 10);
        return Err(Failure::usage(message, "Name a file that contains only the secret."));
    }
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        return Err(Failure::usage(format!("{shown} is empty."), "Write the secret into it."));
    }
    Ok(secret.to_owned())
}
