//! The addresses of the built files.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The address of each built file by its logical name, as in `target/site/assets.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Assets(pub BTreeMap<String, String>);

impl Assets {
    /// The address of a file; its logical name under `/pkg` if the build did not hash it.
    pub fn address(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(address) if address.starts_with('/') => address.clone(),
            Some(file) => format!("/{file}"),
            None => format!("/pkg/{name}"),
        }
    }

    /// The addresses of the files that contain code of a part: each file is named after the parts that need it.
    #[cfg(feature = "ssr")]
    pub fn part_addresses(&self, part: &str) -> impl Iterator<Item = String> {
        let needed = move |name: &str| {
            let parts = name.strip_prefix("part-").and_then(|rest| rest.split_once('.'));
            parts.is_some_and(|(parts, _)| parts.split('-').any(|one| one == part))
        };
        self.0.keys().filter(move |name| needed(name)).map(|name| self.address(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_found_by_its_logical_name() {
        let assets: Assets = serde_json::from_str(r#"{"main.css":"/pkg/main.1a2b.css"}"#).unwrap();
        assert_eq!(assets.address("main.css"), "/pkg/main.1a2b.css");
        assert_eq!(assets.address("editor.js"), "/pkg/editor.js");
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn a_part_is_in_every_file_that_is_named_after_it() {
        let names = [
            "part-source.wasm",
            "part-review-source.bin",
            "part-review.wasm",
            "frontend_bg.wasm",
            "source.wasm",
        ];
        let assets = Assets(names.map(|name| (name.to_owned(), format!("/pkg/{name}"))).into());
        let of = |part| assets.part_addresses(part).collect::<Vec<_>>();
        assert_eq!(of("source"), ["/pkg/part-review-source.bin", "/pkg/part-source.wasm"]);
        assert_eq!(of("review"), ["/pkg/part-review-source.bin", "/pkg/part-review.wasm"]);
    }
}
