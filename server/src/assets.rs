//! The console's static assets: read once at startup, served from memory, with Brotli where the build has compressed
//! them, and with gzip, which is made at the start. Anyone can request them, so that nothing is compressed for a request.
//!
//! `assets.json` maps logical names to URL paths. A path that differs from its logical name contains a hash of the
//! content, so browsers may cache it for a year.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use app::Assets;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use mime_guess::Mime;
use sha2::{Digest as _, Sha256};

use crate::compression::{NoEncoder, accepts_coding};
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
    gzip: Option<Bytes>,
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
        let gzip = if is_compressible(&media_type) { compress(&bytes)? } else { None };
        let text = matches!(media_type.type_().as_str(), "text") || media_type.subtype() == "javascript";
        let media_type = if text { format!("{media_type}; charset=utf-8") } else { media_type.to_string() };
        let etag = format!("\"{}\"", &hex::encode(Sha256::digest(&bytes))[..32]);
        Ok(Self {
            bytes: bytes.into(),
            brotli: std::fs::read(PathBuf::from(brotli)).ok().map(Bytes::from),
            gzip,
            media_type: HeaderValue::from_str(&media_type)?,
            etag: HeaderValue::from_str(&etag)?,
            immutable: for_ever,
        })
    }
}

/// Whether gzip makes a file of this type shorter: images and fonts are compressed already.
fn is_compressible(media_type: &Mime) -> bool {
    let is_text = media_type.type_() == "text" || media_type.suffix().is_some_and(|suffix| suffix == "xml");
    is_text || matches!(media_type.subtype().as_str(), "javascript" | "json" | "wasm")
}

/// The file with gzip, if that is shorter.
fn compress(bytes: &[u8]) -> anyhow::Result<Option<Bytes>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    let compressed = encoder.finish()?;
    Ok((compressed.len() < bytes.len()).then(|| compressed.into()))
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
    let variants = [("br", &file.brotli), ("gzip", &file.gzip)];
    let accepted = variants.into_iter().find_map(|(coding, variant)| {
        let variant = variant.as_ref().filter(|_| accepts_coding(request.headers(), coding))?;
        Some((coding, variant.clone()))
    });
    let bytes = match accepted {
        Some((coding, variant)) => {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
            variant
        }
        None => file.bytes.clone(),
    };
    let mut response = (headers, bytes).into_response();
    response.extensions_mut().insert(NoEncoder);
    response
}
