//! Random names of Helm releases (S1-17).

use crate::model::chart::MAX_RELEASE_NAME;

const ADJECTIVES: [&str; 64] = [
    "able", "amber", "ample", "azure", "bold", "brave", "brief", "bright", "brisk", "calm", "civil", "clear",
    "clever", "coral", "crisp", "dapper", "deep", "eager", "early", "exact", "fair", "fancy", "fine", "firm",
    "fleet", "fresh", "gentle", "glad", "golden", "grand", "green", "happy", "hardy", "honest", "jolly",
    "keen", "kind", "large", "light", "lively", "lucid", "lucky", "mellow", "merry", "modest", "noble",
    "novel", "open", "plain", "polite", "proud", "quick", "quiet", "rapid", "ready", "royal", "silver",
    "smooth", "solid", "steady", "sunny", "swift", "tidy", "vivid",
];
const NOUNS: [&str; 64] = [
    "anchor", "badger", "barge", "beacon", "bear", "bison", "breeze", "bridge", "brook", "cedar", "cliff",
    "comet", "cove", "crane", "creek", "dingo", "dolphin", "eagle", "falcon", "ferry", "finch", "fjord",
    "gannet", "garnet", "geyser", "harbor", "heron", "ibis", "island", "jaguar", "kestrel", "lagoon", "lark",
    "lemur", "lynx", "maple", "marten", "meadow", "mesa", "moose", "narwhal", "ocelot", "orca", "osprey",
    "otter", "panda", "pelican", "petrel", "plover", "puffin", "quail", "quartz", "raven", "reef", "ridge",
    "robin", "salmon", "seal", "sparrow", "spruce", "tern", "tiger", "walrus", "willow",
];

/// A name of two words from 64 random bits. After a few attempts with the same words taken, `attempt` adds a number.
pub fn format_release_name(random: u64, attempt: u32) -> String {
    let index = |shift: u32| usize::try_from((random >> shift) & 63).unwrap_or_default();
    let mut name = format!("{}-{}", ADJECTIVES[index(0)], NOUNS[index(6)]);
    if attempt > 4 {
        name.push_str(&format!("-{}", (random >> 12) & 0xffff));
    }
    name.truncate(MAX_RELEASE_NAME);
    name
}
