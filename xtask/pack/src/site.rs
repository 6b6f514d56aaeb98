//! Writes the site: hashed names, references between files, brotli, the manifests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::bindgen::Glue;
use crate::chunks::{self, ChunkFile};
use crate::split::SplitModule;

/// A stored file; its sizes are an entry of `sizes.json`.
#[derive(Serialize)]
struct SiteAsset {
    /// URL path on the server.
    #[serde(skip)]
    path: String,
    /// Size in bytes.
    raw: usize,
    /// Size of the `.br` file in bytes; absent if brotli does not reduce the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    br: Option<usize>,
}

/// The fonts. They are stored before the style sheet, which refers to their hashed names.
const FONTS: [&str; 2] = ["inter.woff2", "jetbrains-mono.woff2"];

/// The script that starts the module, and the one that loads the chunks.
const GLUE: &str = "frontend.js";
const LOADER: &str = "split.js";

/// Extensions of files to compress; fonts and images are already compressed.
const COMPRESSIBLE: [&str; 10] =
    ["bin", "css", "html", "ico", "js", "json", "svg", "txt", "wasm", "webmanifest"];

struct SiteWriter<'a> {
    out: &'a Path,
    assets: BTreeMap<String, SiteAsset>,
}

/// Writes the site to a temporary folder, then replaces `out`. Returns a line with the sizes.
pub fn write_site(
    (glue, pieces): (Glue, SplitModule),
    parts: &Path,
    schema: &Path,
    public: &Path,
    out: &Path,
) -> Result<String> {
    let fresh = out.with_extension("new");
    let _ = fs::remove_dir_all(&fresh);
    let mut site = SiteWriter { out: &fresh, assets: BTreeMap::new() };

    for font in FONTS {
        site.store_hashed(font, &read_file(&parts.join(font))?)?;
    }
    site.store_program(glue, pieces)?;
    site.store_hashed("editor.js", &read_file(&parts.join("editor.js"))?)?;
    let style = String::from_utf8(read_file(&parts.join("main.css"))?).context("main.css is not UTF-8")?;
    let style = site.replace_font_paths(style)?;
    site.store_hashed("main.css", style.as_bytes())?;
    site.store_hashed("kubernetes.json", &read_file(schema)?)?;
    site.store_plain("icons.svg", &read_file(&parts.join("icons.svg"))?)?;
    site.copy_public(public, "")?;

    let addresses: BTreeMap<_, _> = site.assets.iter().map(|(name, asset)| (name, &asset.path)).collect();
    fs::write(fresh.join("assets.json"), serde_json::to_string_pretty(&addresses)?)?;
    fs::write(fresh.join("sizes.json"), serde_json::to_string_pretty(&site.assets)?)?;
    let summary = site.size_summary();
    replace_folder(&fresh, out)?;
    Ok(summary)
}

impl SiteWriter<'_> {
    /// Stores module, glue, loader and chunks. Scripts refer to hashed names, so that files of two versions never mix; glue and
    /// loader refer to each other, so both have one hash over the whole program.
    fn store_program(&mut self, glue: Glue, pieces: SplitModule) -> Result<()> {
        let wasm = self.store_hashed(Glue::WASM_NAME, &glue.wasm)?;
        let mut script = glue.js.replace(Glue::WASM_NAME, file_name(&wasm));
        let (files, mut loader) = chunks::group_chunks(pieces.chunks, pieces.loader)?;
        for ChunkFile { name, bytes, loader_name: asked } in files {
            ensure!(!self.assets.contains_key(&name), "two files of the program are named {name}");
            let path = self.store_hashed(&name, &bytes)?;
            loader =
                replace_required(&loader, &format!("\"./{asked}\""), &format!("\"./{}\"", file_name(&path)))?;
        }
        let hash = content_hash(&[script.as_bytes(), loader.as_bytes()].concat());
        let import = |name: &str| Glue::import_clause(&format!("./{}", hashed_name(name, &hash)));
        script = replace_required(&script, &Glue::import_clause(SplitModule::LOADER_NAME), &import(LOADER))?;
        loader = replace_required(&loader, &Glue::import_clause(SplitModule::GLUE_NAME), &import(GLUE))?;
        self.store_named(GLUE, &hash, script.as_bytes())?;
        self.store_named(LOADER, &hash, loader.as_bytes())?;
        for (path, text) in glue.snippets {
            self.store_file(&format!("pkg/{path}"), text.as_bytes())?;
        }
        Ok(())
    }

    fn replace_font_paths(&self, mut style: String) -> Result<String> {
        for font in FONTS {
            let logical = format!("/pkg/{font}");
            ensure!(style.contains(&logical), "main.css does not use {logical}");
            style = style.replace(&logical, &self.assets[font].path);
        }
        Ok(style)
    }

    /// Stores a file under a name with the hash of its content. Returns its URL path.
    fn store_hashed(&mut self, logical: &str, content: &[u8]) -> Result<String> {
        self.store_named(logical, &content_hash(content), content)
    }

    /// Stores a file under a name with this hash. Returns its URL path.
    fn store_named(&mut self, logical: &str, hash: &str, content: &[u8]) -> Result<String> {
        let asset = self.store_file(&format!("pkg/{}", hashed_name(logical, hash)), content)?;
        let path = asset.path.clone();
        self.assets.insert(logical.to_owned(), asset);
        Ok(path)
    }

    /// Stores a file under its unhashed name.
    fn store_plain(&mut self, path: &str, content: &[u8]) -> Result<()> {
        let asset = self.store_file(path, content)?;
        self.assets.insert(path.to_owned(), asset);
        Ok(())
    }

    fn store_file(&self, path: &str, content: &[u8]) -> Result<SiteAsset> {
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
        Ok(SiteAsset { path: format!("/{path}"), raw: content.len(), br: br.map(|packed| packed.len()) })
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
                self.store_plain(&path, &read_file(&entry.path())?)?;
            }
        }
        Ok(())
    }

    fn size_summary(&self) -> String {
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

fn content_hash(content: &[u8]) -> String {
    hex::encode(&Sha256::digest(content)[..6])
}

fn hashed_name(logical: &str, hash: &str) -> String {
    let (stem, kind) = logical.rsplit_once('.').unwrap_or((logical, "bin"));
    format!("{stem}.{hash}.{kind}")
}

/// Replaces `old`, which must occur in the text.
pub fn replace_required(text: &str, old: &str, new: &str) -> Result<String> {
    ensure!(
        text.contains(old),
        "a script of the console does not contain `{old}`: wasm-bindgen or the splitter has changed"
    );
    Ok(text.replace(old, new))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Compresses with brotli at the highest quality; `None` if the result is not smaller.
fn compress(content: &[u8]) -> Result<Option<Vec<u8>>> {
    let settings = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 24, ..Default::default() };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &content[..], &mut packed, &settings)?;
    Ok((packed.len() < content.len()).then_some(packed))
}

/// Replaces a folder by two renames; open files of the old folder stay readable.
fn replace_folder(fresh: &Path, out: &Path) -> Result<()> {
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
    fn a_file_that_brotli_does_not_shrink_has_no_compressed_copy() {
        assert!(compress(b"x").unwrap().is_none());
        assert!(compress(&[b'a'; 4096]).unwrap().unwrap().len() < 100);
    }

    #[test]
    fn the_hashed_name_depends_on_the_content() {
        let folder = std::env::temp_dir().join(format!("flotilla-pack-{}", std::process::id()));
        let mut site = SiteWriter { out: &folder, assets: BTreeMap::new() };
        let first = site.store_hashed("main.css", b"a{}").unwrap();
        let same = site.store_hashed("main.css", b"a{}").unwrap();
        let other = site.store_hashed("main.css", b"b{}").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(first, same);
        assert_ne!(first, other);
        assert!(first.starts_with("/pkg/main.") && first.ends_with(".css"), "{first}");
    }
}
