//! What is written into a JSON column can be read from it.

use std::fs;
use std::path::{Path, PathBuf};

use domain::OverrideId;
use domain::labels::Labels;
use domain::overrides::{ClusterSelector, Override, Patch, PatchOp};
use domain::workload::Revision;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::databases::for_each_engine;
use super::fixtures::{at, insert_fleet, project_id, some_workload};
use crate::decode::decode_json;
use crate::sql::{MAX_JSON_DEPTH, to_json};
use crate::{Error, revision, workload};

/// A value with this many maps and lists around a text, which may look like more of them.
fn nested(levels: &[bool], text: &str) -> Value {
    let wrap =
        |inner: Value, is_map: &bool| if *is_map { json!({ text: inner }) } else { json!([inner, text]) };
    levels.iter().fold(Value::from(text), wrap)
}

proptest! {
    #[test]
    fn a_value_is_written_exactly_if_it_can_be_read(
        levels in proptest::collection::vec(any::<bool>(), 100..150),
        text in "[\\[{\\]}\"\\\\a]{0,6}",
    ) {
        let value = nested(&levels, &text);
        match to_json(&value) {
            Ok(stored) => prop_assert_eq!(decode_json::<Value>("column", &stored), Ok(value)),
            Err(Error::TooDeep { depth, .. }) => {
                prop_assert_eq!(depth, levels.len());
                prop_assert!(decode_json::<Value>("column", &value.to_string()).is_err());
            }
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }
}

/// A value of this depth in the override of a draft.
fn deep_override(depth: usize) -> Override {
    Override {
        id: OverrideId::from_parts(1, 1),
        name: "deep".to_owned(),
        target: ClusterSelector::default(),
        priority: 1,
        values: String::new(),
        patches: vec![Patch {
            object: Default::default(),
            op: PatchOp::Merge { value: nested(&vec![true; depth], "a") },
        }],
    }
}

#[tokio::test]
async fn a_draft_or_revision_of_any_depth_is_rejected_or_readable() {
    for_each_engine(|store| async move {
        insert_fleet(&store, 0, 0).await;
        let mut tx = store.write().await.unwrap();
        let mut web = some_workload(1, "web");
        workload::insert(&mut tx, &web).await.unwrap();
        let (mut written, mut rejected) = (0, 0);
        for depth in MAX_JSON_DEPTH - 12..MAX_JSON_DEPTH + 3 {
            web.draft.overrides = vec![deep_override(depth)];
            let number = u32::try_from(depth).unwrap();
            let revision = Revision {
                workload: web.id,
                number,
                spec: web.draft.clone(),
                author: "ana".to_owned(),
                message: String::new(),
                created_at: at(0),
                helm_versions: Vec::new(),
            };
            match workload::update(&mut tx, &web, 1, "ana").await {
                Ok(changed) => {
                    assert!(changed);
                    let found = workload::get_by_name(&mut tx, project_id(), "web").await.unwrap();
                    assert_eq!(found.as_ref(), Some(&web), "{depth}");
                    revision::insert(&mut tx, &revision).await.unwrap();
                    let found = revision::get(&mut tx, web.id, number).await.unwrap();
                    assert_eq!(found, Some(revision), "{depth}");
                    written += 1;
                }
                Err(error) => {
                    assert!(matches!(error, Error::TooDeep { .. }), "{error:?}");
                    let error = revision::insert(&mut tx, &revision).await.unwrap_err();
                    assert!(matches!(error, Error::TooDeep { .. }), "{error:?}");
                    rejected += 1;
                }
            }
        }
        assert!(written > 0 && rejected > 0, "{written} written, {rejected} rejected");
    })
    .await;
}

#[test]
fn labels_and_texts_with_brackets_have_no_depth_of_their_own() {
    let labels: Labels = [("a".to_owned(), "[{".repeat(200))].into_iter().collect();
    let stored = to_json(&labels).unwrap();
    assert_eq!(decode_json::<Labels>("labels", &stored), Ok(labels));
}

#[tokio::test]
async fn a_text_that_postgresql_cannot_store_is_rejected_by_both_engines() {
    for_each_engine(|store| async move {
        for name in ["\0", "web\0", "\u{fffd}"] {
            let mut tx = store.write().await.unwrap();
            let found = workload::get_by_name(&mut tx, project_id(), name).await;
            match name.contains('\0') {
                true => assert!(matches!(found, Err(Error::NullCharacter)), "{name:?}: {found:?}"),
                false => assert_eq!(found.unwrap(), None),
            }
        }
    })
    .await;
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    folders
        .iter()
        .filter(|path| !path.ends_with("tests"))
        .flat_map(|path| sources(path))
        .chain(files)
        .collect()
}

#[test]
fn every_column_is_encoded_by_the_function_that_limits_the_depth() {
    let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let encoders = ["serde_json::to_", "serde_json::json!", "json!("];
    let encodes = |path: &&PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        encoders.iter().any(|encoder| text.contains(encoder))
    };
    let found: Vec<&PathBuf> = files.iter().filter(encodes).collect();
    assert!(files.len() > 30 && found.len() == 1 && found[0].ends_with("sql.rs"), "{found:?}");
}
