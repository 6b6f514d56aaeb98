//! What a registry says in JSON: the manifest of a tag, and pages of tags. What is retained of them is bounded while they are parsed: many
//! short values need far more memory than their text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::MAX_TAGS;

/// Most layers of a manifest; one with more is refused.
const MAX_LAYERS: usize = 1_000;
/// How the names of annotations begin that are retained: those that the specification of images defines.
const ANNOTATION_PREFIX: &str = "org.opencontainers.image.";
/// Most annotations that are retained.
const MAX_ANNOTATIONS: usize = 50;
/// Longest name of an annotation that is retained, in bytes.
const MAX_NAME_BYTES: usize = 100;
/// Most characters that are retained of an annotation.
const MAX_ANNOTATION_CHARS: usize = 1_000;
/// Longest tag, in bytes, by the distribution specification; others are no tags.
const MAX_TAG_BYTES: usize = 128;

/// The manifest of a tag.
#[derive(Deserialize)]
pub struct OciManifest {
    pub config: Descriptor,
    #[serde(default, deserialize_with = "read_layers")]
    pub layers: Vec<Descriptor>,
    /// Those of images, cut.
    #[serde(default, deserialize_with = "read_annotations")]
    pub annotations: BTreeMap<String, String>,
}

/// What a manifest says about a blob.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: String,
    pub digest: String,
    pub size: u64,
}

/// A page of tags; one more than [`MAX_TAGS`] at most.
#[derive(Deserialize)]
pub struct TagsPage {
    #[serde(deserialize_with = "read_tags")]
    pub tags: Vec<String>,
}

fn read_layers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Descriptor>, D::Error> {
    struct Layers;
    impl<'de> Visitor<'de> for Layers {
        type Value = Vec<Descriptor>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MAX_LAYERS} layers")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut layers = Vec::new();
            while let Some(layer) = list.next_element::<Descriptor>()? {
                if layers.len() == MAX_LAYERS {
                    return Err(A::Error::custom("too many layers"));
                }
                layers.push(layer);
            }
            Ok(layers)
        }
    }
    deserializer.deserialize_seq(Layers)
}

fn read_annotations<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Annotations;
    impl<'de> Visitor<'de> for Annotations {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map of texts")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut retained = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                let is_known = name.starts_with(ANNOTATION_PREFIX) && name.len() <= MAX_NAME_BYTES;
                if is_known && retained.len() < MAX_ANNOTATIONS {
                    let text = map.next_value::<String>()?;
                    retained.insert(name, text.chars().take(MAX_ANNOTATION_CHARS).collect());
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(retained)
        }
    }
    deserializer.deserialize_map(Annotations)
}

/// Reads a list of tags; `null` if there are none.
fn read_tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Tags;
    impl<'de> Visitor<'de> for Tags {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of tags")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut tags = Vec::new();
            while let Some(tag) = list.next_element::<String>()? {
                if tags.len() <= MAX_TAGS && tag.len() <= MAX_TAG_BYTES {
                    tags.push(tag);
                }
            }
            Ok(tags)
        }
    }
    deserializer.deserialize_any(Tags)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LAYER: &str = r#"{"mediaType":"","digest":"","size":0}"#;

    fn manifest(layers: usize, annotations: &str) -> Option<OciManifest> {
        let layers = vec![LAYER; layers].join(",");
        let text = format!(r#"{{"config":{LAYER},"layers":[{layers}],"annotations":{{{annotations}}}}}"#);
        serde_json::from_str(&text).ok()
    }

    #[test]
    fn p19_of_many_annotations_of_a_manifest_those_of_images_are_retained_and_cut() {
        let others = (0..20_000).map(|number| format!(r#""a{number}":"","#)).collect::<String>();
        let images = (0..100).map(|number| format!(r#""org.opencontainers.image.a{number}":"","#));
        let images = images.collect::<String>();
        let long = "x".repeat(1 << 20);
        let annotations = format!(
            r#"{others}"org.opencontainers.image.{long}":"","org.opencontainers.image.title":"{long}",{images}"b":"""#
        );
        let found = manifest(1, &annotations).unwrap();
        assert_eq!(found.layers.len(), 1);
        assert_eq!(found.annotations.len(), MAX_ANNOTATIONS);
        assert_eq!(found.annotations["org.opencontainers.image.title"].len(), MAX_ANNOTATION_CHARS);
        let bytes: usize = found.annotations.iter().map(|(name, text)| name.len() + text.len()).sum();
        assert!(bytes < 10_000, "{bytes}");
    }

    #[test]
    fn p19_a_manifest_with_too_many_layers_is_refused() {
        assert!(manifest(MAX_LAYERS, "").is_some());
        assert!(manifest(MAX_LAYERS + 1, "").is_none());
    }

    #[test]
    fn p19_no_more_tags_of_a_page_are_retained_than_are_listed_and_none_that_is_too_long() {
        let page = |tags: &serde_json::Value| {
            serde_json::from_str::<TagsPage>(&json!({"name": "web", "tags": tags}).to_string())
        };
        assert_eq!(page(&json!(vec!["1"; 3 * MAX_TAGS])).unwrap().tags.len(), MAX_TAGS + 1);
        assert_eq!(page(&json!(["1.0.0", "a".repeat(129)])).unwrap().tags, ["1.0.0"]);
        assert!(page(&json!(null)).unwrap().tags.is_empty());
        assert!(page(&json!({})).is_err());
    }
}
