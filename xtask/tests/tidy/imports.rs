//! The imports of a crate's source files: `use` trees and inline paths, resolved to the file that defines what they name.
//!
//! The reader is lexical, not a compiler: it reads paths that begin with `crate`, `self`, `super` or a child module. Code for
//! tests (`#[cfg(test)]`) is left out, because tests may import anything.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Token, read_tokens};

/// A path from the root of a crate; empty for the root.
pub type ModulePath = Vec<String>;

/// A path that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// Its line, from 1.
    pub line: usize,
    /// The path as written, from the root of the crate.
    pub path: ModulePath,
    /// Whether it is written from the root: `crate::…`.
    pub from_root: bool,
}

impl Import {
    /// The path in Rust's notation.
    pub fn text(&self) -> String {
        format!("crate::{}", self.path.join("::"))
    }
}

/// One source file without its tests.
#[derive(Debug, Default)]
struct SourceModule {
    imports: Vec<Import>,
    /// Names that its `use` declarations bind, and their paths.
    bindings: BTreeMap<String, ModulePath>,
    /// Child modules that are compiled for tests only.
    test_modules: BTreeSet<String>,
}

/// The source files of one crate.
#[derive(Debug)]
pub struct CrateSources {
    modules: BTreeMap<ModulePath, SourceModule>,
}

impl CrateSources {
    /// Reads files, each with its path below `src` and its text. `lib.rs` and `main.rs` are the root.
    pub fn read(files: &[(String, String)]) -> Self {
        let paths: BTreeSet<ModulePath> = files.iter().map(|(path, _)| module_path(path)).collect();
        let mut modules: BTreeMap<ModulePath, SourceModule> = BTreeMap::new();
        for (path, text) in files {
            let module = module_path(path);
            modules.insert(module.clone(), read_module(&module, text, &paths));
        }
        let test_roots: Vec<ModulePath> = modules
            .iter()
            .flat_map(|(module, source)| source.test_modules.iter().map(|name| join(module, name)))
            .collect();
        modules.retain(|module, _| !test_roots.iter().any(|root| module.starts_with(root)));
        Self { modules }
    }

    /// The modules with a file of their own, without tests.
    pub fn modules(&self) -> impl Iterator<Item = &ModulePath> {
        self.modules.keys()
    }

    /// What a module imports.
    pub fn imports(&self, module: &ModulePath) -> &[Import] {
        self.modules.get(module).map_or(&[], |source| &source.imports)
    }

    /// The module whose file defines what `path` names, behind all re-exports.
    pub fn resolve(&self, path: &[String]) -> ModulePath {
        let mut path = path.to_vec();
        // Re-exports in a circle end here.
        for _ in 0..16 {
            let mut module = ModulePath::new();
            let mut rest = path.as_slice();
            while let Some((name, below)) = rest.split_first() {
                let child = join(&module, name);
                if !self.modules.contains_key(&child) {
                    break;
                }
                (module, rest) = (child, below);
            }
            let binding = rest.first().and_then(|name| self.modules.get(&module)?.bindings.get(name));
            match binding {
                Some(target) => path = [target.as_slice(), &rest[1..]].concat(),
                None => return module,
            }
        }
        Vec::new()
    }
}

/// The module of a file: `a/b.rs` is `a::b`.
fn module_path(file: &str) -> ModulePath {
    match file.trim_end_matches(".rs") {
        "lib" | "main" => Vec::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

fn join(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn read_module(module: &ModulePath, text: &str, modules: &BTreeSet<ModulePath>) -> SourceModule {
    let tokens = read_tokens(text);
    let mut reader = ModuleReader {
        tokens: &tokens,
        at: 0,
        depth: 0,
        module: module.clone(),
        inline_modules: Vec::new(),
        modules,
        source: SourceModule::default(),
    };
    reader.read();
    reader.source
}

/// Reads the tokens of one file.
struct ModuleReader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    /// Number of open braces.
    depth: usize,
    /// The current module, inline ones included.
    module: ModulePath,
    /// The number of open braces around each open inline module.
    inline_modules: Vec<usize>,
    modules: &'a BTreeSet<ModulePath>,
    source: SourceModule,
}

impl ModuleReader<'_> {
    fn text(&self, offset: usize) -> &str {
        self.tokens.get(self.at + offset).map_or("", |token| token.text)
    }

    fn read(&mut self) {
        while self.at < self.tokens.len() {
            match self.text(0) {
                "#" if self.is_test_attribute() => self.skip_test_item(),
                "use" if self.text(1) != "<" => self.read_use(),
                "mod" if self.text(2) == "{" => {
                    let name = self.text(1).to_owned();
                    self.module.push(name);
                    self.inline_modules.push(self.depth);
                    self.depth += 1;
                    self.at += 3;
                }
                "{" => {
                    self.depth += 1;
                    self.at += 1;
                }
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.inline_modules.last() == Some(&self.depth) {
                        self.inline_modules.pop();
                        self.module.pop();
                    }
                    self.at += 1;
                }
                _ if self.text(1) == "::" => self.read_inline_path(),
                _ => self.at += 1,
            }
        }
    }

    /// Whether an attribute `#[cfg(test)]`, also with further conditions, begins here.
    fn is_test_attribute(&self) -> bool {
        if [self.text(1), self.text(2)] != ["[", "cfg"] {
            return false;
        }
        let words: Vec<&str> =
            self.tokens[self.at..].iter().map(|token| token.text).take_while(|text| *text != "]").collect();
        words.contains(&"test") && !words.contains(&"not")
    }

    /// Skips an attribute and the item behind it, and records a module in a file of its own.
    fn skip_test_item(&mut self) {
        while self.text(0) == "#" {
            while !matches!(self.text(0), "]" | "") {
                self.at += 1;
            }
            self.at += 1;
        }
        if self.text(0) == "mod" && self.text(2) == ";" {
            let name = self.text(1).to_owned();
            self.source.test_modules.insert(name);
        }
        let mut open = 0_usize;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" | "{" => open += 1,
                // The end of what encloses a field or a variant.
                ")" | "]" | "}" if open == 0 => return,
                ")" | "]" => open -= 1,
                "}" => {
                    open -= 1;
                    if open == 0 {
                        self.at += 1;
                        return;
                    }
                }
                ";" if open == 0 => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Reads a declaration `use …;`.
    fn read_use(&mut self) {
        self.at += 1;
        self.read_use_tree(&[]);
    }

    fn read_use_tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        loop {
            match self.text(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | "") {
                        self.read_use_tree(&path);
                        if self.text(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "," | "}" | ";" | "" => break,
                "as" => {
                    let name = self.text(1).to_owned();
                    self.at += 2;
                    self.add_use(line, &path, Some(name));
                    return;
                }
                segment => {
                    path.push(segment.to_owned());
                    self.at += 1;
                }
            }
        }
        self.add_use(line, &path, None);
    }

    fn add_use(&mut self, line: usize, path: &[String], name: Option<String>) {
        // `use a::{self}` imports `a`.
        let path = match path {
            [parent @ .., last] if last == "self" && !parent.is_empty() => parent,
            path => path,
        };
        let Some(absolute) = self.absolute_path(path) else { return };
        if let Some(name) = name.or_else(|| absolute.last().cloned())
            && absolute != join(&self.module, &name)
        {
            self.source.bindings.insert(name, absolute.clone());
        }
        self.source.imports.push(Import { line, path: absolute, from_root: path[0] == "crate" });
    }

    /// Reads a path in code, from its first segment.
    fn read_inline_path(&mut self) {
        let follows_path = self.at > 0 && matches!(self.tokens[self.at - 1].text, "::" | ".");
        let line = self.tokens[self.at].line;
        let mut path = vec![self.text(0).to_owned()];
        self.at += 1;
        while self.text(0) == "::" && self.text(1).starts_with(|c: char| c.is_alphabetic() || c == '_') {
            path.push(self.text(1).to_owned());
            self.at += 2;
        }
        if self.text(0) == "::" {
            self.at += 1;
        }
        if follows_path {
            return;
        }
        if let Some(absolute) = self.absolute_path(&path) {
            self.source.imports.push(Import { line, path: absolute, from_root: path[0] == "crate" });
        }
    }

    /// The path from the root of the crate; `None` for another crate, a type or a variable.
    fn absolute_path(&self, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        let up = path.iter().take_while(|segment| *segment == "super").count();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([self.module.as_slice(), rest].concat()),
            "super" => {
                let parent = &self.module[..self.module.len().saturating_sub(up)];
                Some([parent, &path[up..]].concat())
            }
            child if self.modules.contains(&join(&self.module, child)) => {
                Some([self.module.as_slice(), path].concat())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> CrateSources {
        let owned: Vec<(String, String)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        CrateSources::read(&owned)
    }

    fn imports(files: &[(&str, &str)], module: &str) -> Vec<String> {
        let sources = sources(files);
        let module = module_path(module);
        let resolved = |import: &Import| sources.resolve(&import.path).join("::");
        sources
            .imports(&module)
            .iter()
            .map(|import| format!("{} in {}", import.text(), resolved(import)))
            .collect()
    }

    #[test]
    fn a_use_tree_is_read_to_its_leaves() {
        let text = "use crate::b::{self, C, d::{E as F, *}};\nuse std::fmt;";
        let found = imports(&[("lib.rs", ""), ("a.rs", text), ("b.rs", ""), ("b/d.rs", "")], "a");
        assert_eq!(
            found,
            ["crate::b in b", "crate::b::C in b", "crate::b::d::E in b::d", "crate::b::d::* in b::d"]
        );
    }

    #[test]
    fn an_inline_path_is_an_import_in_code_and_not_in_comments_and_texts() {
        let text = "// crate::b::X\nfn f(x: &'a str) -> crate::b::X { let s = \"crate::b::Y\"; super::b::z('\"'); r#\"\"crate::b\"# }";
        let found = imports(&[("lib.rs", ""), ("a.rs", text), ("b.rs", "")], "a");
        assert_eq!(found, ["crate::b::X in b", "crate::b::z in b"]);
    }

    #[test]
    fn a_path_leads_through_re_exports_to_the_file_that_defines_it() {
        let files = [
            ("lib.rs", "pub use low::word;\npub use low::word::Word as Term;"),
            ("low.rs", "pub mod word;"),
            ("low/word.rs", ""),
            ("user.rs", "use crate::word::Word;\nuse crate::Term;"),
        ];
        assert_eq!(imports(&files, "user"), ["crate::word::Word in low::word", "crate::Term in low::word"]);
    }

    #[test]
    fn a_child_module_is_found_without_a_prefix() {
        let files = [
            ("lib.rs", ""),
            ("a.rs", "mod b;\npub use b::C;\nfn f() { b::g(); other::g(); }"),
            ("a/b.rs", ""),
        ];
        assert_eq!(imports(&files, "a"), ["crate::a::b::C in a::b", "crate::a::b::g in a::b"]);
    }

    #[test]
    fn tests_are_left_out() {
        let files = [
            ("lib.rs", ""),
            (
                "a.rs",
                "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more {\n use crate::b::X;\n}\nuse crate::b::Y;",
            ),
            ("a/tests.rs", "use crate::b::Z;"),
            ("b.rs", ""),
        ];
        assert_eq!(imports(&files, "a"), ["crate::b::Y in b"]);
        assert!(!sources(&files).modules().any(|module| module.join("::") == "a::tests"));
    }

    #[test]
    fn super_in_an_inline_module_is_the_file() {
        let files = [
            ("lib.rs", ""),
            ("a.rs", "mod inner { use super::super::b::X; }\nuse super::b::Y;"),
            ("b.rs", ""),
        ];
        assert_eq!(imports(&files, "a"), ["crate::b::X in b", "crate::b::Y in b"]);
    }
}
