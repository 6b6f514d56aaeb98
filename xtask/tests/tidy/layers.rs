//! The layers of `domain`, and circles of imports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::assert_none;
use super::files::{find_files, read_text, relative_path, repository_root};
use super::imports::{CrateSources, Import, ModulePath};

/// The source folder of the crate with layers.
const DOMAIN: &str = "crates/domain/src";

/// The layers of `domain`, lowest first: a layer imports only itself and those before it. `crates/domain/src/lib.rs` says
/// what belongs to each.
const LAYERS: [&str; 4] = ["kubernetes", "text", "model", "evaluation"];

/// Source folders in which no two files import each other, directly or through others.
const WITHOUT_CIRCLES: [&str; 5] =
    [DOMAIN, "crates/agent/src", "crates/cli/src", "crates/wire/src", "app/src"];

fn read_crate(folder: &str) -> CrateSources {
    let root = repository_root().join(folder);
    let files: Vec<(String, String)> = find_files(&["rs"])
        .into_iter()
        .filter_map(|path| Some((path.strip_prefix(&root).ok()?.to_str()?.to_owned(), read_text(&path))))
        // Every file of `bin` is the root of a crate of its own.
        .filter(|(path, _)| !path.starts_with("bin/"))
        .collect();
    assert!(files.len() > 5, "{folder} has {} files", files.len());
    CrateSources::read(&files)
}

fn file_of(folder: &str, module: &ModulePath) -> String {
    let path = repository_root().join(folder).join(module.join("/")).with_extension("rs");
    relative_path(&path)
}

/// The faults of imports in the wrong direction.
fn find_layer_faults(folder: &str, sources: &CrateSources, layers: &[&str]) -> Vec<String> {
    let rank = |name: &str| layers.iter().position(|layer| *layer == name);
    let mut faults = Vec::new();
    for module in sources.modules() {
        let file = file_of(folder, module);
        let Some(layer) = module.first() else { continue };
        let Some(own) = rank(layer) else {
            faults
                .push(format!("{file}: is in no layer: move it to one of the folders {}", layers.join(", ")));
            continue;
        };
        for import in sources.imports(module) {
            let target = sources.resolve(&import.path);
            let Some(name) = target.first() else { continue };
            let place = format!("{file}:{}: imports {}", import.line, import.text());
            match rank(name) {
                Some(other) if other > own => faults.push(format!(
                    "{place}, which is in the layer {name} above {layer}: move the type or function to {layer} or below, or \
                     the code that needs it to {name}"
                )),
                _ if import.from_root && import.path.first() != Some(name) => {
                    faults.push(format!("{place} without its layer: write crate::{}", target.join("::")));
                }
                _ => {}
            }
        }
    }
    faults
}

/// The imports of each file from other files. A module and the modules below it count as one family: they may import each
/// other.
fn import_graph(sources: &CrateSources) -> BTreeMap<&ModulePath, BTreeMap<ModulePath, &Import>> {
    let edges = |module: &ModulePath| {
        let mut edges = BTreeMap::new();
        for import in sources.imports(module) {
            let target = sources.resolve(&import.path);
            if !target.starts_with(module) && !module.starts_with(&target) {
                edges.entry(target).or_insert(import);
            }
        }
        edges
    };
    sources.modules().map(|module| (module, edges(module))).collect()
}

/// The shortest circle of imports through a module, without its repetition at the end.
fn shortest_circle(
    start: &ModulePath,
    graph: &BTreeMap<&ModulePath, BTreeMap<ModulePath, &Import>>,
) -> Option<Vec<ModulePath>> {
    let mut previous: BTreeMap<&ModulePath, &ModulePath> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for target in graph.get(module).into_iter().flat_map(BTreeMap::keys) {
            if target == start {
                let mut circle = vec![module.clone()];
                let mut at = module;
                while at != start {
                    at = previous[at];
                    circle.insert(0, at.clone());
                }
                return Some(circle);
            }
            if !previous.contains_key(target) {
                previous.insert(target, module);
                queue.push_back(target);
            }
        }
    }
    None
}

/// The circles of imports, each file in at most one of them.
fn find_circles(folder: &str, sources: &CrateSources) -> Vec<String> {
    let graph = import_graph(sources);
    let mut reported: BTreeSet<ModulePath> = BTreeSet::new();
    let mut faults = Vec::new();
    for module in sources.modules() {
        if reported.contains(module) {
            continue;
        }
        let Some(circle) = shortest_circle(module, &graph) else { continue };
        let steps = circle.iter().zip(circle.iter().cycle().skip(1)).map(|(from, to)| {
            let import = graph[from][to];
            format!("{}:{} imports {}", file_of(folder, from), import.line, import.text())
        });
        faults.push(format!(
            "a circle of imports: {}. Move what both need to a file that imports neither",
            steps.collect::<Vec<_>>().join(", ")
        ));
        reported.extend(circle);
    }
    faults
}

#[test]
fn the_layers_of_domain_import_only_themselves_and_lower_ones() {
    assert_none(find_layer_faults(DOMAIN, &read_crate(DOMAIN), &LAYERS));
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    assert_none(
        WITHOUT_CIRCLES.iter().flat_map(|folder| find_circles(folder, &read_crate(folder))).collect(),
    );
}

fn example(files: &[(&str, &str)]) -> CrateSources {
    let owned: Vec<(String, String)> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    CrateSources::read(&owned)
}

#[test]
fn an_import_of_a_higher_layer_is_a_fault_also_through_a_re_export() {
    let files = [
        ("lib.rs", "mod high;\nmod low;\npub use high::noun;"),
        ("high.rs", "pub mod noun;"),
        ("low.rs", "pub mod other;\npub mod word;"),
        ("high/noun.rs", "use crate::low::word::Word;"),
        ("low/word.rs", "\nfn f() -> crate::noun::Noun {}"),
        ("low/other.rs", "use crate::high::noun::Noun;\nuse super::word::Word;"),
    ];
    let faults = find_layer_faults("src", &example(&files), &["low", "high"]);
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].starts_with(
        "src/low/other.rs:1: imports crate::high::noun::Noun, which is in the layer high above low"
    ));
    assert!(
        faults[1].starts_with(
            "src/low/word.rs:2: imports crate::noun::Noun, which is in the layer high above low"
        )
    );
}

#[test]
fn an_import_without_its_layer_and_a_file_in_no_layer_are_faults() {
    let files = [
        ("lib.rs", "pub use low::word;"),
        ("low.rs", "pub mod other;\npub mod word;"),
        ("low/word.rs", ""),
        ("low/other.rs", "use crate::word::Word;"),
        ("stray.rs", ""),
    ];
    let faults = find_layer_faults("src", &example(&files), &["low"]);
    assert_eq!(
        faults,
        [
            "src/low/other.rs:1: imports crate::word::Word without its layer: write crate::low::word",
            "src/stray.rs: is in no layer: move it to one of the folders low",
        ]
    );
}

#[test]
fn a_circle_over_three_files_is_a_fault_and_one_with_a_child_module_is_not() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;"),
        ("a.rs", "mod child;\npub use child::Child;\nuse crate::b::B;"),
        ("a/child.rs", "use super::A;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "fn f() { crate::a::g(); }"),
        ("d.rs", "use crate::a::Child;"),
    ];
    assert_eq!(
        find_circles("src", &example(&files)),
        [
            "a circle of imports: src/a.rs:3 imports crate::b::B, src/b.rs:1 imports crate::c::C, src/c.rs:1 imports \
             crate::a::g. Move what both need to a file that imports neither"
        ]
    );
}
