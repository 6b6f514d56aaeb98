//! The folder itself: hashed names, references between files, brotli, the manifest.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::bindgen::Glue;
use crate::chunks::{self, ChunkFile};
use crate::split::Pieces;

/// What is known of a stored file; its sizes are one line of `sizes.json`.
#[derive(Serialize)]
struct Asset {
    /// Address on the server, from the root.
    #[serde(skip)]
    path: String,
    /// Bytes.
    raw: usize,
    /// Bytes of the `.br` beside it; absent if brotli brings nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    br: Option<usize>,
}

/// What is hashed, in an order in which each file only refers to files before it.
const FONTS: [&str; 2] = ["inter.woff2", "jetbrains-mono.woff2"];

/// The script that starts the module, and the one that fetches the rest.
const GLUE: &str = "frontend.js";
const LOADER: &str = "split.js";

/// Kinds of file that brotli makes smaller; fonts and pictures are compressed already.
const COMPRESSIBLE: [&str; 10] =
    ["bin", "css", "html", "ico", "js", "json", "svg", "txt", "wasm", "webmanifest"];

struct Site<'a> {
    out: &'a Path,
    assets: BTreeMap<String, Asset>,
}

/// Writes the whole site beside `out`, then puts it in its place. Returns a line about sizes.
pub fn write(
    (glue, pieces): (Glue, Pieces),
    parts: &Path,
    schema: &Path,
    public: &Path,
    out: &Path,
) -> Result<String> {
    let fresh = out.with_extension("new");
    let _ = fs::remove_dir_all(&fresh);
    let mut site = Site { out: &fresh, assets: BTreeMap::new() };

    for font in FONTS {
        site.hashed(font, &read(&parts.join(font))?)?;
    }
    site.program(glue, pieces)?;
    site.hashed("editor.js", &read(&parts.join("editor.js"))?)?;
    let style = String::from_utf8(read(&parts.join("main.css"))?).context("main.css is not UTF-8")?;
    let style = site.with_fonts(style)?;
    site.hashed("main.css", style.as_bytes())?;
    site.hashed("kubernetes.json", &read(schema)?)?;
    site.plain("icons.svg", &read(&parts.join("icons.svg"))?)?;
    site.copy_public(public, "")?;

    let addresses: BTreeMap<_, _> = site.assets.iter().map(|(name, asset)| (name, &asset.path)).collect();
    fs::write(fresh.join("assets.json"), serde_json::to_string_pretty(&addresses)?)?;
    fs::write(fresh.join("sizes.json"), serde_json::to_string_pretty(&site.assets)?)?;
    let summary = site.summary();
    replace(&fresh, out)?;
    Ok(summary)
}

impl Site<'_> {
    /// Module, glue, loader and chunks. A script names what it loads by its hash, so that old and new never mix; glue and
    /// loader name each other, so both carry one hash of all that is in the program.
    fn program(&mut self, glue: Glue, pieces: Pieces) -> Result<()> {
        let wasm = self.hashed(Glue::WASM_NAME, &glue.wasm)?;
        let mut script = glue.js.replace(Glue::WASM_NAME, file_name(&wasm));
        let (files, mut loader) = chunks::files(pieces.chunks, pieces.loader)?;
        for ChunkFile { name, bytes, asked } in files {
            ensure!(!self.assets.contains_key(&name), "two files of the program are named {name}");
            let path = self.hashed(&name, &bytes)?;
            loader = replaced(&loader, &format!("\"./{asked}\""), &format!("\"./{}\"", file_name(&path)))?;
        }
        let hash = hash(&[script.as_bytes(), loader.as_bytes()].concat());
        let beside = |name: &str| Glue::imports(&format!("./{}", with_hash(name, &hash)));
        script = replaced(&script, &Glue::imports(Pieces::LOADER_NAME), &beside(LOADER))?;
        loader = replaced(&loader, &Glue::imports(Pieces::GLUE_NAME), &beside(GLUE))?;
        self.named(GLUE, &hash, script.as_bytes())?;
        self.named(LOADER, &hash, loader.as_bytes())?;
        for (path, text) in glue.snippets {
            self.store(&format!("pkg/{path}"), text.as_bytes())?;
        }
        Ok(())
    }

    fn with_fonts(&self, mut style: String) -> Result<String> {
        for font in FONTS {
            let logical = format!("/pkg/{font}");
            ensure!(style.contains(&logical), "main.css does not use {logical}");
            style = style.replace(&logical, &self.assets[font].path);
        }
        Ok(style)
    }

    /// Stores a file under a name that changes with its content. Returns its path on the server.
    fn hashed(&mut self, logical: &str, content: &[u8]) -> Result<String> {
        self.named(logical, &hash(content), content)
    }

    /// Stores a file under a name with this hash in it. Returns its path on the server.
    fn named(&mut self, logical: &str, hash: &str, content: &[u8]) -> Result<String> {
        let asset = self.store(&format!("pkg/{}", with_hash(logical, hash)), content)?;
        let path = asset.path.clone();
        self.assets.insert(logical.to_owned(), asset);
        Ok(path)
    }

    /// Stores a file under its own name.
    fn plain(&mut self, path: &str, content: &[u8]) -> Result<()> {
        let asset = self.store(path, content)?;
        self.assets.insert(path.to_owned(), asset);
        Ok(())
    }

    fn store(&self, path: &str, content: &[u8]) -> Result<Asset> {
        let file = self.out.join(path);
        fs::create_dir_all(file.parent().context("a file has a folder")?)?;
        fs::write(&file, content)?;
        let br = match path.rsplit_once('.') {
            Some((_, kind)) if COMPRESSIBLE.contains(&kind) => compress(content)?,
            _ => None,
        };
        if let Some(packed) = &br {
            fs::write(self.out.join(format!("{path}.br")), packed)?;
        }
        Ok(Asset { path: format!("/{path}"), raw: content.len(), br: br.map(|packed| packed.len()) })
    }

    fn copy_public(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        let mut entries = fs::read_dir(folder)
            .with_context(|| format!("cannot list {}", folder.display()))?
            .collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                self.copy_public(&entry.path(), &format!("{path}/"))?;
            } else {
                self.plain(&path, &read(&entry.path())?)?;
            }
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let mut line = String::from("brotli");
        for name in [Glue::WASM_NAME, GLUE, LOADER, "main.css", "editor.js", "kubernetes.json"] {
            let asset = &self.assets[name];
            // Writing to a String cannot fail.
            let _ = write!(line, " · {name} {} kB", asset.br.unwrap_or(asset.raw).div_ceil(1000));
        }
        let chunks = self.assets.iter().filter(|(name, _)| name.starts_with("part-"));
        let sizes: Vec<usize> = chunks.map(|(_, asset)| asset.br.unwrap_or(asset.raw)).collect();
        let _ = write!(line, " · {} parts {} kB", sizes.len(), sizes.iter().sum::<usize>().div_ceil(1000));
        line
    }
}

fn hash(content: &[u8]) -> String {
    hex::encode(&Sha256::digest(content)[..6])
}

fn with_hash(logical: &str, hash: &str) -> String {
    let (stem, kind) = logical.rsplit_once('.').unwrap_or((logical, "bin"));
    format!("{stem}.{hash}.{kind}")
}

/// The text with what must be in it replaced.
pub fn replaced(text: &str, old: &str, new: &str) -> Result<String> {
    ensure!(
        text.contains(old),
        "a script of the console does not say `{old}`: wasm-bindgen or the splitter has changed"
    );
    Ok(text.replace(old, new))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Brotli at its best setting, or nothing if the result is not smaller.
fn compress(content: &[u8]) -> Result<Option<Vec<u8>>> {
    let settings = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 24, ..Default::default() };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &content[..], &mut packed, &settings)?;
    Ok((packed.len() < content.len()).then_some(packed))
}

/// Two renames: a reader of the old folder keeps its open files, the next one finds the new.
fn replace(fresh: &Path, out: &Path) -> Result<()> {
    let old = out.with_extension("old");
    let _ = fs::remove_dir_all(&old);
    if out.exists() {
        fs::rename(out, &old)?;
    }
    fs::rename(fresh, out)?;
    let _ = fs::remove_dir_all(&old);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_brotli_does_not_shrink_gets_no_copy() {
        assert!(compress(b"x").unwrap().is_none());
        assert!(compress(&[b'a'; 4096]).unwrap().unwrap().len() < 100);
    }

    #[test]
    fn the_name_follows_the_content() {
        let folder = std::env::temp_dir().join(format!("flotilla-pack-{}", std::process::id()));
        let mut site = Site { out: &folder, assets: BTreeMap::new() };
        let one = site.hashed("main.css", b"a{}").unwrap();
        let same = site.hashed("main.css", b"a{}").unwrap();
        let other = site.hashed("main.css", b"b{}").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert!(one.starts_with("/pkg/main.") && one.ends_with(".css"), "{one}");
    }
}
