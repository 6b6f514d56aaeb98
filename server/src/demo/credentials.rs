//! Credentials of the demo: a user with a password, and a token for the command line, both stored in its folder.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use domain::api_token::NewApiToken;
use domain::role::Role;
use hub::{Actor, ActorKind, Hub};
use rand::seq::IndexedRandom as _;

/// Name of the demo's user.
const NAME: &str = "demo";
/// Lifetime of the token, in days.
const TOKEN_DAYS: u32 = 90;

/// Credentials of the demo's user.
pub struct DemoCredentials {
    /// The user's name.
    pub name: String,
    /// The password.
    pub password: String,
    /// The actor of the demo's own actions at startup.
    pub actor: Actor,
}

/// Creates the user and the token, or reads those of the last start. Writes `cli.env`.
///
/// # Errors
/// The folder can't be written, or the database's user has another password than the folder.
pub async fn prepare_credentials(hub: &Hub, folder: &Path, url: &str) -> anyhow::Result<DemoCredentials> {
    let file = folder.join("password");
    let password = match std::fs::read_to_string(&file) {
        Ok(text) => text.trim().to_owned(),
        Err(_) => {
            let password = generate_password();
            write_private_file(&file, &password)?;
            password
        }
    };
    let user = hub.ensure_user(NAME, &password).await?;
    let actor = Actor::new(NAME, ActorKind::Session(user), Role::Admin);
    let token = load_or_create_token(hub, folder, &actor).await?;
    write_private_file(&folder.join("cli.env"), &format!("FLOTILLA_SERVER={url}\nFLOTILLA_TOKEN={token}\n"))?;
    Ok(DemoCredentials { name: NAME.to_owned(), password, actor })
}

/// The token of the last start if it is still valid, otherwise a new one.
async fn load_or_create_token(hub: &Hub, folder: &Path, actor: &Actor) -> anyhow::Result<String> {
    let env = std::fs::read_to_string(folder.join("cli.env")).unwrap_or_default();
    let stored = env.lines().find_map(|line| line.strip_prefix("FLOTILLA_TOKEN=")).map(str::to_owned);
    if let Some(secret) = stored
        && hub.authenticate_token(&secret).await.is_ok()
    {
        return Ok(secret);
    }
    let created = hub.create_token(actor, &NewApiToken::new("command-line", TOKEN_DAYS)).await;
    Ok(created.context("can't create a token")?.secret)
}

/// A password of four different words out of sixty-four (almost 24 bits): enough for a server on the loopback address.
fn generate_password() -> String {
    const WORDS: [&str; 64] = [
        "anchor", "bay", "beacon", "bell", "berth", "bow", "bridge", "brig", "buoy", "cabin", "cable",
        "canal", "cape", "cargo", "chart", "coast", "compass", "coral", "crane", "crew", "current", "deck",
        "delta", "dinghy", "dock", "drift", "ferry", "fjord", "fleet", "foam", "galley", "gull", "harbor",
        "helm", "hull", "island", "keel", "knot", "lagoon", "lantern", "mast", "mate", "mooring", "oar",
        "ocean", "pier", "pilot", "port", "quay", "reef", "rigging", "river", "rudder", "sail", "salt",
        "schooner", "shore", "sound", "stern", "strait", "tide", "vessel", "voyage", "wave",
    ];
    let mut rng = rand::rng();
    let chosen: Vec<&str> = WORDS.choose_multiple(&mut rng, 4).copied().collect();
    chosen.join("-")
}

/// Writes a file that only its owner can read.
fn write_private_file(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(file).with_context(|| format!("can't write {}", file.display()))?;
    open.write_all(text.as_bytes()).with_context(|| format!("can't write {}", file.display()))
}
