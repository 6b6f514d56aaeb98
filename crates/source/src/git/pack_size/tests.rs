//! Packs that need more memory than their size says.

use super::*;
use crate::git::test_pack::{PackBuilder, commit, repeat_base};

const MIB: usize = 1 << 20;

fn refusal(pack: PackBuilder) -> String {
    let error = measure_pack(&pack.finish()).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::TooLarge, "{error}");
    error.message
}

#[test]
fn p19_a_pack_is_measured_with_its_deltas_and_their_bases() {
    let mut pack = PackBuilder::new();
    pack.add(Kind::Blob, &[1; 1_000]);
    let base = pack.add(Kind::Blob, &[2; 2_000]);
    let delta = repeat_base(2_000, 3);
    pack.add_delta(base, &delta);
    pack.add_delta(base, &delta);
    let held = 2_000 + 2 * (6_000 + delta.len() as u64);
    assert_eq!(measure_pack(&pack.finish()).unwrap(), held + 2 * 6_000 + 4 * OBJECT_OVERHEAD_BYTES);
}

#[test]
fn p19_a_chain_of_deltas_in_a_small_pack_is_refused_by_the_sum_of_its_objects() {
    let size = 60 * MIB;
    let mut pack = PackBuilder::new();
    let mut last = pack.add(Kind::Blob, &vec![0; size]);
    for _ in 0..40 {
        last = pack.add_delta(last, &repeat_base(size, 1));
    }
    let bytes = pack.finish();
    assert!(bytes.len() < 128 << 10, "{} bytes", bytes.len());
    let error = measure_pack(&bytes).unwrap_err();
    assert_eq!(error.kind, GitErrorKind::TooLarge);
    assert!(error.message.contains("more than 256 MiB together"), "{error}");
}

#[test]
fn p19_deltas_whose_base_is_named_by_its_id_count_every_object_as_a_base() {
    let six_blobs = || {
        let mut pack = PackBuilder::new();
        for _ in 0..6 {
            pack.add(Kind::Blob, &vec![0; 50 * MIB]);
        }
        pack
    };
    assert!(measure_pack(&six_blobs().finish()).is_ok());
    let (_, id) = commit("base", &[]);
    let mut pack = six_blobs();
    pack.add_id_delta(id, &repeat_base(1_000, 1));
    assert!(refusal(pack).contains("more than 256 MiB together"));
}

#[test]
fn p19_a_delta_that_doubles_its_base_again_and_again_is_refused_before_it_is_built() {
    let mut pack = PackBuilder::new();
    let mut size = MIB;
    let mut last = pack.add(Kind::Blob, &vec![0; size]);
    for _ in 0..7 {
        last = pack.add_delta(last, &repeat_base(size, 2));
        size *= 2;
    }
    assert!(refusal(pack).contains("An object of the repository has 134217728 bytes"));
}

#[test]
fn p19_a_commit_of_a_million_parents_is_refused_by_its_size() {
    let (_, parent) = commit("parent", &[]);
    let (content, _) = commit("hostile", &vec![parent; 30_000]);
    let mut pack = PackBuilder::new();
    pack.add(Kind::Commit, &content);
    assert!(refusal(pack).starts_with("A commit of the repository has"));
    // Also as a delta, whose own size is small.
    let (base, _) = commit("base", &[parent]);
    let mut pack = PackBuilder::new();
    let offset = pack.add(Kind::Commit, &base);
    pack.add_delta(offset, &repeat_base(base.len(), MIB / base.len() + 1));
    assert!(refusal(pack).starts_with("A commit of the repository has"));
}

#[test]
fn p19_a_folder_and_the_number_of_objects_have_limits() {
    let mut pack = PackBuilder::new();
    pack.add(Kind::Tree, &vec![0; 9 * MIB]);
    assert!(refusal(pack).starts_with("A folder of the repository has"));
    let mut many = PackBuilder::new().finish();
    many[8..12].copy_from_slice(&(MAX_OBJECTS + 1).to_be_bytes());
    assert!(measure_pack(&many).unwrap_err().message.contains("500001 objects"));
}

#[test]
fn p19_an_entry_that_states_another_size_than_it_has_is_damaged() {
    for stated in [999, 1_001] {
        let mut pack = PackBuilder::new();
        pack.add_with_size(&[0; 1_000], stated);
        let error = measure_pack(&pack.finish()).unwrap_err();
        assert_eq!(error.kind, GitErrorKind::InvalidResponse, "{stated}: {error}");
    }
    let mut pack = PackBuilder::new();
    pack.add(Kind::Blob, b"content");
    let complete = pack.finish();
    for length in 0..complete.len() {
        // The checksum itself is verified when the pack is indexed.
        let cut = measure_pack(&complete[..length]);
        assert!(cut.is_err(), "{length} bytes: {cut:?}");
    }
}
