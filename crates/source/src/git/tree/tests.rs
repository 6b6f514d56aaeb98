//! Folders that no file system could have.

use super::*;
use crate::client_shares::PACKS_OF_USERS;
use crate::git::test_pack::{PackBuilder, commit_folder, folder};
use crate::scratch::ScratchFolder;

/// Reads all files of a commit with a manifest in a folder of this name.
async fn read_folder_named(name: &str) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
    let manifest = b"kind: ConfigMap\n";
    let blob = gix_object::compute_hash(gix_hash::Kind::Sha1, Kind::Blob, manifest).unwrap();
    let (inner_bytes, inner) = folder(&[("100644", "web.yaml", blob)]);
    let (root_bytes, root) = folder(&[("40000", name, inner)]);
    let (commit_bytes, commit) = commit_folder(root, "Add a folder", &[]);
    let mut pack = PackBuilder::new();
    pack.add(Kind::Commit, &commit_bytes);
    pack.add(Kind::Tree, &root_bytes);
    pack.add(Kind::Tree, &inner_bytes);
    pack.add(Kind::Blob, manifest);
    let parent = tempfile::tempdir().unwrap();
    let scratch = ScratchFolder::open(parent.path()).unwrap();
    let memory = PACKS_OF_USERS.reserve("a test".to_owned(), 1).await.unwrap();
    let objects = CommitObjects::read(&pack.finish(), &commit.to_string(), &scratch, memory)?;
    objects.read_folder(&objects.root(), "", |_, _| EntryUse::Read)
}

#[tokio::test]
async fn p19_a_path_has_a_limited_length_because_all_of_them_are_in_memory() {
    let read = read_folder_named("deploy").await.unwrap();
    assert_eq!(read.into_keys().collect::<Vec<_>>(), ["deploy/web.yaml"]);
    let refused = read_folder_named(&"x".repeat(100_000)).await.unwrap_err();
    assert_eq!(refused.kind, GitErrorKind::RejectedContent);
    assert!(refused.message.contains("has a path of 100000 bytes; at most 1024 are allowed"), "{refused}");
}
