//! Histories as a Git server sends them.

use super::*;
use crate::client_shares::PACKS_OF_USERS;
use crate::git::test_pack::{PackBuilder, commit};

/// The objects of a pack with these commits; `tip` is the one that was fetched.
async fn read(commits: &[Vec<u8>], tip: ObjectId) -> Result<CommitObjects, GitError> {
    let mut pack = PackBuilder::new();
    for content in commits {
        pack.add(Kind::Commit, content);
    }
    let folder = tempfile::tempdir().unwrap();
    let scratch = ScratchFolder::open(folder.path()).unwrap();
    let memory = PACKS_OF_USERS.reserve("a test".to_owned(), 1).await.unwrap();
    CommitObjects::read(&pack.finish(), &tip.to_string(), &scratch, memory)
}

#[tokio::test]
async fn commits_ahead_are_counted_over_merges() {
    let (base_text, base) = commit("base", &[]);
    let (left_text, left) = commit("left", &[base]);
    let (right_text, right) = commit("right", &[base]);
    let (merge_text, merge) = commit("merge", &[left, right]);
    let objects = read(&[base_text, left_text, right_text, merge_text], merge).await.unwrap();
    assert_eq!(objects.details().subject, "merge");
    assert_eq!(objects.count_ahead_of(&base.to_string()).unwrap(), Some(3));
    assert_eq!(objects.count_ahead_of(&left.to_string()).unwrap(), Some(2));
    let (_, unknown) = commit("unknown", &[]);
    assert_eq!(objects.count_ahead_of(&unknown.to_string()).unwrap(), None);
}

#[tokio::test]
async fn p19_a_commit_with_too_many_parents_is_refused_with_its_id() {
    let (_, parent) = commit("parent", &[]);
    let (text, tip) = commit("tip", &vec![parent; MAX_PARENTS]);
    assert!(read(&[text], tip).await.is_ok());
    let (text, tip) = commit("tip", &vec![parent; MAX_PARENTS + 1]);
    let error = read(&[text], tip).await.unwrap_err();
    assert_eq!(error.kind, GitErrorKind::TooLarge);
    assert!(error.message.contains(&tip.to_string()) && error.message.contains("256 parents"), "{error}");
}

#[tokio::test]
async fn p19_an_ancestor_with_too_many_parents_ends_the_count() {
    let (root_text, root) = commit("root", &[]);
    let (hostile_text, hostile) = commit("hostile", &vec![root; MAX_PARENTS + 1]);
    let (tip_text, tip) = commit("tip", &[hostile]);
    let objects = read(&[root_text, hostile_text, tip_text], tip).await.unwrap();
    let error = objects.count_ahead_of(&root.to_string()).unwrap_err();
    assert!(error.message.contains(&hostile.to_string()), "{error}");
}

#[tokio::test]
async fn p19_a_history_of_too_many_commits_is_not_counted() {
    let (text, mut tip) = commit("0", &[]);
    let root = tip;
    let mut commits = vec![text];
    for number in 1..=MAX_ANCESTORS {
        let (text, id) = commit(&number.to_string(), &[tip]);
        commits.push(text);
        tip = id;
    }
    let error = read(&commits, tip).await.unwrap().count_ahead_of(&root.to_string()).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::TooLarge);
    // On a busy machine it may be the time that ends first.
    assert!(error.message.starts_with("The history between two commits"), "{error}");
}

#[tokio::test]
async fn p19_a_history_that_takes_too_long_to_read_is_not_counted() {
    let (root_text, root) = commit("root", &[]);
    let (tip_text, tip) = commit("tip", &[root]);
    let objects = read(&[root_text, tip_text], tip).await.unwrap();
    let error = objects.count_ahead_within(&root.to_string(), Duration::ZERO).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::TooLarge);
    assert!(error.message.contains("took longer than 0 s to read"), "{error}");
    assert_eq!(objects.count_ahead_within(&root.to_string(), Duration::from_secs(3_600)).unwrap(), Some(1));
}
