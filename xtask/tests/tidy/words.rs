//! Texts for people use the standard words of the field, one meaning each.

use super::assert_none;
use super::files::{find_files, read_text, relative_path};
use super::tokens::read_string_literals;

/// Folders whose string literals are texts of the console, the command line, the API or its messages.
const FOLDERS: [&str; 10] = [
    "app/src/",
    "crates/agent/src/",
    "crates/cli/src/",
    "crates/domain/src/",
    "crates/egress/src/",
    "crates/engine/src/",
    "crates/hub/src/",
    "crates/source/src/",
    "crates/wire/src/",
    "server/src/",
];

/// Phrases that were replaced, and the words to write.
const REPLACED_PHRASES: [(&str, &str); 35] = [
    ("Take back", "Roll back to rN"),
    ("Keep it there", "Cancel removal"),
    ("Keep here", "Cancel removal"),
    ("Go on now", "Promote (skip soak)"),
    ("End it", "Revoke, or Abort"),
    ("End rollout", "Abort rollout"),
    ("Begin with", "Start from"),
    ("Make group", "Create group"),
    ("Make token", "Create token"),
    ("Ready when", "Readiness probe"),
    ("Alive when", "Liveness probe"),
    ("Not asked", "None"),
    ("Leads to", "Target port"),
    ("Reach it from", "Expose"),
    ("Scale it by itself", "Autoscaling"),
    ("Own numbers", "Custom"),
    ("Your own waves", "Custom"),
    ("Put it back", "Self-heal (revert)"),
    ("Stop and say who", "Fail on conflict"),
    ("Take it over", "Force"),
    ("Leave them running", "Orphan"),
    ("Choose anew", "Reselect"),
    ("Or another set", "Add alternative"),
    ("Asks since", "Waiting since"),
    ("Let it in", "Accept"),
    ("Break it", "Inject fault"),
    ("to mend", "to fix"),
    ("Accepted in part", "Partly validated"),
    ("Not tested", "Not validated"),
    ("not tested", "not validated"),
    ("Needs a person", "Needs attention"),
    ("Our fault", "Server error"),
    ("asks first", "after a confirmation"),
    ("nothing says", "it is not known"),
    ("says why", "shows the reason"),
];

#[test]
fn texts_use_the_standard_words() {
    let mut faults = Vec::new();
    let files = find_files(&["rs"]).into_iter().map(|file| (relative_path(&file), file));
    for (path, file) in files.filter(|(path, _)| FOLDERS.iter().any(|folder| path.starts_with(folder))) {
        let text = read_text(&file);
        for literal in read_string_literals(&text) {
            let replaced = REPLACED_PHRASES.iter().filter(|(phrase, _)| literal.text.contains(phrase));
            faults.extend(
                replaced.map(|(phrase, word)| format!("{path}:{}: `{phrase}`: write {word}", literal.line)),
            );
        }
    }
    assert_none(faults);
}
