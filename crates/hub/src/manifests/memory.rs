//! Memory for the manifests of a spec: reserved before they are parsed, and released when they are dropped.
//!
//! A request of a few bytes checks, plans or renders a stored workload of 10 MiB: what that needs does not follow from its body, and not
//! from its response. Its user has a share; the placer has another one.

use std::sync::Arc;

use domain::bounded_json::JsonSize;
use domain::manifest::yaml_value::READ_VALUE_BYTES;
use domain::overrides::Override;
use domain::template;
use domain::workload::Source;
use source::client_shares::{ClientReservation, MANIFESTS_OF_USERS};

use super::RenderWait;
use crate::Error;

/// How often the text is in memory: as it is stored, in the parsed values and in what is rendered of them.
const TEXT_COPIES: u64 = 6;
/// What patches may need that are counted with the objects that they change.
const COVERED_PATCH_BYTES: u64 = 1 << 20;
/// What rendered objects need while they are compared.
const COMPARED_BYTES: u64 = 4 << 20;

/// Memory that is reserved for as long as manifests exist; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManifestsMemory {
    reserved: Option<Arc<ClientReservation>>,
}

impl ManifestsMemory {
    /// Reserves what manifests of these texts need. What is larger than the share of a user is alone in the memory for all.
    ///
    /// # Errors
    /// Others use the memory for longer than a request waits.
    pub async fn reserve(needed: u64, wait: RenderWait) -> Result<Self, Error> {
        let reserved = MANIFESTS_OF_USERS.reserve_in_full(wait.turn(), needed).await?;
        Ok(Self { reserved: Some(Arc::new(reserved)) })
    }

    /// Whether there is any.
    pub fn is_reserved(&self) -> bool {
        self.reserved.is_some()
    }
}

/// What manifests need in memory, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct MemoryNeed {
    /// For the texts and their values.
    pub parsed: u64,
    /// For a copy of the objects of one cluster. There is one if template expressions are replaced, of one cluster after the other.
    pub copied: u64,
    /// For what template expressions produce on one cluster.
    pub expansion: u64,
}

impl MemoryNeed {
    /// What these manifests need together with others.
    pub fn and(self, other: Self) -> Self {
        Self {
            parsed: self.parsed.saturating_add(other.parsed),
            copied: self.copied.max(other.copied),
            expansion: self.expansion.max(other.expansion),
        }
    }

    /// The bytes in all.
    pub fn bytes(self) -> u64 {
        let filled = if self.expansion > 0 { self.expansion.saturating_add(self.copied) } else { 0 };
        self.parsed.saturating_add(filled)
    }
}

/// What manifests of these texts need at most. A value of YAML has a line, or a part of a list or a map in one line; in a text within JSON the
/// end of a line is escaped.
pub(super) fn estimate_memory<'a>(texts: impl Iterator<Item = &'a [u8]>) -> MemoryNeed {
    let is_value = |byte: &&u8| matches!(byte, b'\n' | b'\\' | b',' | b'{' | b'[');
    let (mut parsed, mut expansion) = (0, 0);
    for text in texts {
        let values = text.iter().filter(is_value).count() as u64;
        parsed += READ_VALUE_BYTES * values + TEXT_COPIES * text.len() as u64;
        expansion = expansion.max(template::estimate_expansion(text));
    }
    MemoryNeed { parsed, copied: parsed / 2, expansion }
}

/// What the manifests of files need at most; nothing for those of a chart or a commit, which are not in the source.
pub(super) fn estimate_files(source: &Source) -> MemoryNeed {
    estimate_memory(source.files().iter().map(|file| file.text.as_bytes()))
}

/// What patches add to the objects of one cluster: their values where they are many, and what their expressions produce.
pub(super) fn estimate_patches(overrides: &[Override]) -> MemoryNeed {
    let sizes = overrides.iter().map(|item| JsonSize::of_serialized(&item.patches));
    let values = sizes.fold(JsonSize::default(), JsonSize::and).decoded_bytes();
    let mut patches = overrides.iter().flat_map(|item| &item.patches);
    let has_expressions = patches.any(|patch| patch.op.value().is_some_and(template::is_templated));
    MemoryNeed {
        parsed: values.saturating_sub(COVERED_PATCH_BYTES),
        expansion: if has_expressions { template::MAX_EXPANSION_BYTES } else { 0 },
        ..MemoryNeed::default()
    }
}

/// What the objects of a source need while they are compared with others, about: what a chart or a commit has is not known before.
pub(crate) fn estimate_compared(source: &Source) -> u64 {
    match source {
        Source::Yaml { .. } => estimate_files(source).bytes(),
        Source::Chart(_) | Source::Git(_) | Source::Oci(_) => COMPARED_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use domain::OverrideId;
    use domain::overrides::{ClusterSelector, ObjectSelector, Patch, PatchOp};
    use domain::workload::{NewWorkload, Revision, SourceFile, WorkloadSpec};

    use super::*;
    use crate::manifests::{ManifestsQuery, SourceManifests};
    use crate::workload::InstalledReleases;
    use crate::{Actor, Clock, Hub, HubConfig, PublishOptions, run_for_requester};

    #[test]
    fn p19_what_manifests_need_follows_from_their_values_and_not_only_from_their_size() {
        let estimate = |text: &str| estimate_memory([text.as_bytes()].into_iter()).bytes();
        let comment = format!("# {}\n", "a".repeat(10_000));
        assert!(estimate(&comment) < 7 * comment.len() as u64);
        let items = "- a\n".repeat(1_000);
        assert!(estimate(&items) > 60 * items.len() as u64);
        let escaped = serde_json::to_string(&items).unwrap();
        assert!(estimate(&escaped) > 50 * escaped.len() as u64);
        assert_eq!(estimate_memory(["a".as_bytes(), b"b"].into_iter()).bytes(), 2 * TEXT_COPIES);
    }

    #[test]
    fn p19_the_objects_of_one_cluster_are_filled_in_at_a_time_whatever_the_number_of_texts_and_clusters() {
        let templated = "name: ${{ cluster.name }}\n".as_bytes();
        let one = estimate_memory([templated].into_iter());
        let two = estimate_memory([templated, templated].into_iter());
        let plain = estimate_memory(["name: web\n".as_bytes()].into_iter());
        assert_eq!(plain.bytes(), plain.parsed);
        let filled = one.bytes() - one.parsed;
        assert!(filled > template::MAX_EXPANSION_BYTES);
        assert!(two.bytes() - two.parsed < filled + one.parsed, "{two:?}");
        assert_eq!(one.and(one), MemoryNeed { parsed: 2 * one.parsed, ..one });
        assert_eq!(one.and(plain).bytes(), one.parsed + plain.parsed + filled);
    }

    #[test]
    fn p19_expressions_in_a_patch_are_filled_in_as_those_of_the_files_are_and_many_values_count() {
        let with_patch = |value: &str, more: usize| {
            let value =
                serde_json::json!({"data": {"a": value, "b": vec![serde_json::json!({"c": 1}); more]}});
            [Override {
                id: OverrideId::from_parts(1, 0),
                name: "all".to_owned(),
                target: ClusterSelector::default(),
                priority: 0,
                values: String::new(),
                patches: vec![Patch { object: ObjectSelector::default(), op: PatchOp::Merge { value } }],
            }]
        };
        assert_eq!(estimate_patches(&with_patch("plain", 10)), MemoryNeed::default());
        let many = estimate_patches(&with_patch("plain", 10_000));
        assert!(many.parsed > 8 << 20 && many.bytes() == many.parsed, "{many:?}");
        let need = estimate_patches(&with_patch("${{ cluster.name }}", 0));
        assert_eq!(need.bytes(), template::MAX_EXPANSION_BYTES);
        let plain = estimate_memory(["name: web\n".repeat(1_000).as_bytes()].into_iter());
        let filled = plain.and(need).bytes() - plain.bytes();
        assert_eq!(
            filled,
            template::MAX_EXPANSION_BYTES + plain.parsed / 2,
            "a copy of the files is filled in"
        );
    }

    #[tokio::test]
    async fn p19_a_stored_workload_is_evaluated_only_with_memory_of_its_user_for_it() {
        let _alone = crate::render::MEMORY_TESTS.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n".to_owned();
        let source = Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] };
        let spec = WorkloadSpec { source, ..WorkloadSpec::default() };
        let load = async |user: &str, replaced: Option<&Source>| {
            let query = ManifestsQuery {
                workload: "web",
                revision: 1,
                spec: &spec,
                groups: &[],
                project: None,
                clusters: &[],
                targets: &[],
                installed: &InstalledReleases::default(),
                replaced,
            };
            let load = Box::pin(hub.load_manifests(query, RenderWait::Request));
            run_for_requester(user.to_owned(), load).await
        };
        // The wait for memory passes at once.
        tokio::time::pause();
        let in_use = MANIFESTS_OF_USERS.reserve("user mallory".to_owned(), u64::MAX).await.unwrap();
        let busy = load("mallory", None).await.unwrap_err();
        assert!(matches!(busy, Error::ServerBusy { .. }), "{busy}");
        let of_ada = load("ada", None).await.unwrap();
        assert_eq!(of_ada.sample().manifests.len(), 1);
        drop(in_use);
        let count_free =
            async || MANIFESTS_OF_USERS.reserve("user mallory".to_owned(), 0).await.unwrap().free_bytes();
        let loaded = load("mallory", None).await.unwrap();
        let beside_loaded = count_free().await;
        drop(loaded);
        let without = count_free().await;
        assert!(beside_loaded < without, "they have it as long as they exist");
        // A check parses the published files too.
        let text = "- a\n".repeat(1_000);
        let published = Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] };
        let compared = load("mallory", Some(&published)).await.unwrap();
        let beside_both = count_free().await;
        assert!(
            beside_both + estimate_files(&published).bytes() <= beside_loaded,
            "{beside_both} {beside_loaded}"
        );
        drop(compared);
        let nothing_rendered = SourceManifests::default();
        let compared =
            nothing_rendered.reserve_replaced(Some(&published), RenderWait::Request).await.unwrap();
        assert!(compared.memory.is_reserved());
    }

    #[tokio::test]
    async fn p19_a_plan_has_memory_for_the_published_files_that_it_compares_the_draft_with() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let yaml = |notes: usize| {
            let header = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n";
            let text =
                format!("{header}{}", (0..notes).map(|key| format!("  k{key}: v\n")).collect::<String>());
            Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] }
        };
        let spec = |notes: usize| WorkloadSpec { source: yaml(notes), ..WorkloadSpec::default() };
        let (actor, options) = (Actor::system(), PublishOptions::default());
        let draft = spec(1);
        let new = NewWorkload { name: "web".to_owned(), spec: draft, ..NewWorkload::default() };
        Box::pin(hub.create_workload(&actor, new)).await.unwrap();
        let mut tx = hub.read().await.unwrap();
        let mut candidate = hub.load_publishable(&mut tx, "web", &options).await.unwrap();
        candidate.stored.published = Some(Revision {
            workload: candidate.stored.workload.id,
            number: 1,
            spec: spec(2_000),
            author: actor.name.clone(),
            message: String::new(),
            created_at: hub.clock().now(),
            helm_versions: Vec::new(),
        });
        let free = async |user: &str| {
            MANIFESTS_OF_USERS.reserve(format!("user {user}"), 0).await.unwrap().free_bytes()
        };
        let before = free("olga").await;
        let plan = Box::pin(hub.load_publish_snapshot(tx, candidate));
        let snapshot = run_for_requester("olga".to_owned(), plan).await.unwrap();
        assert!(before - free("olga").await > estimate_files(&yaml(2_000)).bytes());
        drop(snapshot);
        assert_eq!(free("olga").await, before);
    }
}
