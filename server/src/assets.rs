//! The built files of the console: read once at start, served from memory, brotli-compressed where the build did that.
//!
//! `assets.json` maps logical names to addresses. A file whose address differs from its logical name carries a hash in
//! it and never changes, so browsers may keep it for a year.

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

/// Name of the map beside the files.
const MAP: &str = "assets.json";
/// A larger file is none of the console's.
const LARGEST: u64 = 64 * 1024 * 1024;

/// All built files.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    assets: Assets,
    files: HashMap<String, File>,
}

#[derive(Debug, Clone)]
struct File {
    bytes: Bytes,
    brotli: Option<Bytes>,
    media_type: HeaderValue,
    etag: HeaderValue,
    for_ever: bool,
}

impl Shelf {
    /// Reads the files under `dir`.
    ///
    /// # Errors
    /// The folder or its `assets.json` can't be read.
    pub fn read(dir: &Path) -> anyhow::Result<Self> {
        let map = dir.join(MAP);
        let text = std::fs::read_to_string(&map).with_context(|| format!("can't read {}", map.display()))?;
        let names: BTreeMap<String, String> =
            serde_json::from_str(&text).with_context(|| format!("{} is no map of names", map.display()))?;
        let assets = Assets(names);
        let hashed: HashSet<String> = assets
            .0
            .keys()
            .map(|name| (name, assets.address(name)))
            .filter(|(name, address)| !address.ends_with(&format!("/{name}")))
            .map(|(_, address)| address)
            .collect();
        let mut files = HashMap::new();
        for path in walk(dir)? {
            let address = address_of(dir, &path);
            if is_of_the_build(&address) {
                continue;
            }
            files.insert(address.clone(), File::read(&path, hashed.contains(&address))?);
        }
        Ok(Self { assets, files })
    }

    /// Logical names and their addresses, for the pages.
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Whether there is a file at this address.
    pub fn has(&self, address: &str) -> bool {
        self.files.contains_key(address)
    }

    /// The addresses of all files.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl File {
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
            for_ever,
        })
    }
}

/// The build's own notes beside the files, and what stands for another file.
fn is_of_the_build(address: &str) -> bool {
    let note = address.ends_with(".json") && address.rfind('/') == Some(0);
    note || address.ends_with(".br")
}

fn walk(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(|| format!("can't read {}", dir.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            found.extend(walk(&entry.path())?);
        } else if kind.is_file() && entry.metadata()?.len() <= LARGEST {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn address_of(dir: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(dir).unwrap_or(file);
    inside.iter().fold(String::new(), |path, part| format!("{path}/{}", part.to_string_lossy()))
}

/// Serves one file.
pub async fn file(State(site): State<Site>, request: Request) -> Response {
    let Some(file) = site.shelf().files.get(request.uri().path()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut headers = HeaderMap::new();
    let cache = if file.for_ever { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(ETAG, file.etag.clone());
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if request.headers().get(IF_NONE_MATCH) == Some(&file.etag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    headers.insert(CONTENT_TYPE, file.media_type.clone());
    match &file.brotli {
        Some(brotli) if takes_brotli(request.headers()) => {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
            (headers, brotli.clone()).into_response()
        }
        _ => (headers, file.bytes.clone()).into_response(),
    }
}

fn takes_brotli(headers: &HeaderMap) -> bool {
    let all = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        name.trim() == "br" && !matches!(weight.trim(), "q=0" | "q=0.0")
    })
}
