//! How one gets into the demo: a person with a password, and a token for the command line, both kept in its folder.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use hub::{Actor, ActorKind, Hub};
use rand::seq::IndexedRandom as _;

/// Name of the demo's person.
const NAME: &str = "demo";
/// How long the token lives, in days.
const TOKEN_DAYS: u32 = 90;

/// The way in.
pub struct WayIn {
    /// The person's name.
    pub name: String,
    /// Their password.
    pub password: String,
    /// The person as who the demo acts at its start.
    pub actor: Actor,
}

/// Makes person and token, or finds those of the last start. Writes `cli.env`.
///
/// # Errors
/// The folder can't be written, or the database has a person whose password the folder does not know.
pub async fn prepare(hub: &Hub, folder: &Path, url: &str) -> anyhow::Result<WayIn> {
    let file = folder.join("password");
    let password = match std::fs::read_to_string(&file) {
        Ok(kept) => kept.trim().to_owned(),
        Err(_) => {
            let made = words();
            write_private(&file, &made)?;
            made
        }
    };
    let user = hub.ensure_user(NAME, &password).await?;
    let actor = Actor::new(NAME, ActorKind::Session(user));
    let token = token(hub, folder, &actor).await?;
    write_private(&folder.join("cli.env"), &format!("FLOTILLA_SERVER={url}\nFLOTILLA_TOKEN={token}\n"))?;
    Ok(WayIn { name: NAME.to_owned(), password, actor })
}

/// The token of the last start if it still works, otherwise a new one.
async fn token(hub: &Hub, folder: &Path, actor: &Actor) -> anyhow::Result<String> {
    let kept = std::fs::read_to_string(folder.join("cli.env")).unwrap_or_default();
    let kept = kept.lines().find_map(|line| line.strip_prefix("FLOTILLA_TOKEN=")).map(str::to_owned);
    if let Some(secret) = kept
        && hub.token_actor(&secret).await.is_ok()
    {
        return Ok(secret);
    }
    let made = hub.token_create(actor, "command-line", TOKEN_DAYS).await;
    Ok(made.context("can't make a token")?.secret)
}

/// A password that can be typed: four words of sixty-four, for a server that only this machine reaches.
fn words() -> String {
    const WORDS: [&str; 64] = [
        "anchor", "bay", "beacon", "bell", "berth", "bow", "bridge", "brig", "buoy", "cabin", "cable",
        "canal", "cape", "cargo", "chart", "coast", "compass", "coral", "crane", "crew", "current", "deck",
        "delta", "dinghy", "dock", "drift", "ferry", "fjord", "fleet", "foam", "galley", "gull", "harbor",
        "helm", "hull", "island", "keel", "knot", "lagoon", "lantern", "mast", "mate", "mooring", "oar",
        "ocean", "pier", "pilot", "port", "quay", "reef", "rigging", "river", "rudder", "sail", "salt",
        "schooner", "shore", "sound", "stern", "strait", "tide", "vessel", "voyage", "wave",
    ];
    let mut rng = rand::rng();
    let chosen: Vec<&str> = (0..4).filter_map(|_| WORDS.choose(&mut rng).copied()).collect();
    chosen.join("-")
}

/// Writes a file that only its owner can read.
fn write_private(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(file).with_context(|| format!("can't write {}", file.display()))?;
    open.write_all(text.as_bytes()).with_context(|| format!("can't write {}", file.display()))
}
