//! The console's static assets: read once at startup, served from memory, with Brotli where the build has compressed
//! them.
//!
//! `assets.json` maps logical names to URL paths. A path that differs from its logical name contains a hash of the
//! content, so browsers may cache it for a year.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use app::Assets;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use crate::site::Site;

/// Name of the map in the folder.
const MAP_FILE: &str = "assets.json";
/// Larger files are skipped, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// All static assets.
#[derive(Debug, Clone, Default)]
pub struct StaticAssets {
    assets: Assets,
    files: HashMap<String, StaticFile>,
}

#[derive(Debug, Clone)]
struct StaticFile {
    bytes: Bytes,
    brotli: Option<Bytes>,
    media_type: HeaderValue,
    etag: HeaderValue,
    immutable: bool,
}

impl StaticAssets {
    /// Reads the files under `dir`.
    ///
    /// # Errors
    /// The folder or its `assets.json` can't be read.
    pub fn read(dir: &Path) -> anyhow::Result<Self> {
        let map = dir.join(MAP_FILE);
        let text = std::fs::read_to_string(&map).with_context(|| format!("can't read {}", map.display()))?;
        let names: BTreeMap<String, String> = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a JSON map of names to paths", map.display()))?;
        let assets = Assets(names);
        let hashed: HashSet<String> = assets
            .0
            .keys()
            .map(|name| (name, assets.address(name)))
            .filter(|(name, address)| !address.ends_with(&format!("/{name}")))
            .map(|(_, address)| address)
            .collect();
        let mut files = HashMap::new();
        for path in list_files(dir)? {
            let address = url_path(dir, &path);
            if is_build_metadata(&address) {
                continue;
            }
            files.insert(address.clone(), StaticFile::read(&path, hashed.contains(&address))?);
        }
        Ok(Self { assets, files })
    }

    /// Logical names and their paths, for the pages.
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Whether there is a file at this path.
    pub fn contains(&self, address: &str) -> bool {
        self.files.contains_key(address)
    }

    /// The paths of all files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl StaticFile {
    fn read(path: &Path, for_ever: bool) -> anyhow::Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
        let mut brotli = path.as_os_str().to_owned();
        brotli.push(".br");
        let media_type = mime_guess::from_path(path).first_or_octet_stream();
        let text = matches!(media_type.type_().as_str(), "text") || media_type.subtype() == "javascript";
        let media_type = if text { format!("{media_type}; charset=utf-8") } else { media_type.to_string() };
        let etag = format!("\"{}\"", &hex::encode(Sha256::digest(&bytes))[..32]);
        Ok(Self {
            bytes: bytes.into(),
            brotli: std::fs::read(PathBuf::from(brotli)).ok().map(Bytes::from),
            media_type: HeaderValue::from_str(&media_type)?,
            etag: HeaderValue::from_str(&etag)?,
            immutable: for_ever,
        })
    }
}

/// The build's metadata and the compressed variants, which are not served under their own path.
fn is_build_metadata(address: &str) -> bool {
    let note = address.ends_with(".json") && address.rfind('/') == Some(0);
    note || address.ends_with(".br")
}

fn list_files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("can't read {}", dir.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            found.extend(list_files(&entry.path())?);
        } else if kind.is_file() && entry.metadata()?.len() <= MAX_FILE_BYTES {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn url_path(dir: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(dir).unwrap_or(file);
    inside.iter().fold(String::new(), |path, part| format!("{path}/{}", part.to_string_lossy()))
}

/// Serves one file.
pub async fn serve_file(State(site): State<Site>, request: Request) -> Response {
    let Some(file) = site.static_assets().files.get(request.uri().path()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut headers = HeaderMap::new();
    let cache = match (file.immutable, file.media_type.as_bytes()) {
        (true, _) => "public, max-age=31536000, immutable",
        // Every page names the sprite without a hash; an icon that an upgrade adds may be missing for 5 minutes.
        (false, b"image/svg+xml") => "public, max-age=300, stale-while-revalidate=86400",
        (false, _) => "no-cache",
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(ETAG, file.etag.clone());
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if request.headers().get(IF_NONE_MATCH) == Some(&file.etag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    headers.insert(CONTENT_TYPE, file.media_type.clone());
    match &file.brotli {
        Some(brotli) if accepts_brotli(request.headers()) => {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
            (headers, brotli.clone()).into_response()
        }
        _ => (headers, file.bytes.clone()).into_response(),
    }
}

fn accepts_brotli(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim() == "br" && !matches!(weight.trim(), "q=0" | "q=0.0")
    })
}
