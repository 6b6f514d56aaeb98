//! The manifests of a folder of `-f`: of the folder alone, or with `-R` of the folders below it too. Hidden files and folders are
//! never read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use domain::Finding;
use domain::name_list::join_first;

use crate::failure::Failure;

/// Upper limit of folders one in the other, as for a path in a repository.
const MAX_DEPTH: usize = 32;
/// Upper limit of the entries of all folders together, as for a path in a repository.
const MAX_ENTRIES: usize = 20_000;
/// Number of paths that a warning names.
const NAMED: usize = 8;

/// What was found in a folder.
#[derive(Debug, Default)]
pub(super) struct FolderContent {
    /// The manifests, sorted by path.
    pub files: Vec<PathBuf>,
    /// Folders below that hold manifests, or that can't be looked into, and were not read.
    unread: Vec<PathBuf>,
    /// Links that were not followed: to folders, to nothing, and out of the folder.
    links: Vec<PathBuf>,
}

impl FolderContent {
    /// Finds the manifests of a folder; with `is_recursive` those of the folders below too.
    ///
    /// # Errors
    /// A folder can't be read, or there are more folders or entries than the limits allow.
    pub fn find(folder: &Path, is_recursive: bool) -> Result<Self, Failure> {
        let mut content = if is_recursive { find_in_tree(folder)? } else { find_in_folder(folder)? };
        for paths in [&mut content.files, &mut content.unread, &mut content.links] {
            paths.sort();
        }
        Ok(content)
    }

    /// Whether folders below hold manifests that were not read.
    pub const fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Warnings about what was not read, with paths relative to the folder.
    pub fn warnings(&self, folder: &Path) -> Vec<Finding> {
        let named = |paths: &[PathBuf]| {
            let names: Vec<String> = paths.iter().map(|path| relative_name(folder, path)).collect();
            join_first(&names, NAMED)
        };
        let mut warnings = Vec::new();
        if !self.unread.is_empty() {
            let what = match self.unread.len() {
                1 => "1 folder below was".to_owned(),
                count => format!("{count} folders below were"),
            };
            let message = format!("{what} not read: {}.", named(&self.unread));
            warnings.push(Finding::warning("G109", message, "Use -R to read them, or name them with -f."));
        }
        if !self.links.is_empty() {
            let message = format!("Links were not followed: {}.", named(&self.links));
            let hint = "With -R, links to folders and out of the folder are not followed; name their targets with -f.";
            warnings.push(Finding::warning("G109", message, hint));
        }
        warnings
    }
}

/// The path below a folder, with `/` on every system.
pub(super) fn relative_name(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

fn find_in_folder(folder: &Path) -> Result<FolderContent, Failure> {
    let mut content = FolderContent::default();
    let mut below = Vec::new();
    let paths = list(folder)?;
    if paths.len() > MAX_ENTRIES {
        return Err(too_many(folder, &format!("{MAX_ENTRIES} files and folders")));
    }
    for path in paths {
        // Links are followed: a mounted ConfigMap is a folder of links. Pipes and sockets are skipped, because reading
        // them would block.
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() && is_manifest(&path) => content.files.push(path),
            Ok(meta) if meta.is_dir() && !is_hidden(&path) && !path.is_symlink() => below.push((path, 1)),
            _ => {}
        }
    }
    content.unread = find_unread(below);
    Ok(content)
}

/// Which of these folders and those below them hold manifests, or may hold them: it looks at no more entries than a recursive read would
/// accept.
fn find_unread(mut open: Vec<(PathBuf, usize)>) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
    while let Some((folder, depth)) = open.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            found.push(folder);
            continue;
        };
        let mut has_manifest = false;
        for entry in entries.flatten().take(left) {
            left -= 1;
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    if depth < MAX_DEPTH && !is_hidden(&path) {
                        open.push((path, depth + 1));
                    }
                }
                _ => has_manifest |= is_manifest(&path),
            }
        }
        if has_manifest || left == 0 {
            found.push(folder);
        }
    }
    found
}

fn find_in_tree(root: &Path) -> Result<FolderContent, Failure> {
    let real_root =
        fs::canonicalize(root).map_err(|error| read_error(&root.display().to_string(), &error))?;
    let mut content = FolderContent::default();
    let mut open = vec![(root.to_path_buf(), 0)];
    let mut left = MAX_ENTRIES;
    while let Some((folder, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(too_many(root, &format!("{MAX_DEPTH} folders one in the other")));
        }
        for path in list(&folder)? {
            left = left
                .checked_sub(1)
                .ok_or_else(|| too_many(root, &format!("{MAX_ENTRIES} files and folders")))?;
            if is_hidden(&path) {
                continue;
            }
            let meta = fs::symlink_metadata(&path)
                .map_err(|error| read_error(&path.display().to_string(), &error))?;
            if meta.is_dir() {
                open.push((path, depth + 1));
            } else if meta.is_symlink() {
                add_link(&mut content, &real_root, path);
            } else if meta.is_file() && is_manifest(&path) {
                content.files.push(path);
            }
        }
    }
    Ok(content)
}

/// A link to a manifest in the folder is followed, as a mounted ConfigMap has them; every other one that may lead to manifests is named.
fn add_link(content: &mut FolderContent, real_root: &Path, link: PathBuf) {
    match fs::canonicalize(&link) {
        Ok(target) if target.is_dir() => content.links.push(link),
        // Pipes and devices would block.
        Ok(target) if !target.is_file() => {}
        Ok(target) if is_manifest(&link) && target.starts_with(real_root) => content.files.push(link),
        _ if is_manifest(&link) => content.links.push(link),
        _ => {}
    }
}

/// The paths of the entries of a folder, in any order, and no more of them than the limit of a recursive read and one.
fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error| read_error(&folder.display().to_string(), &error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.take(MAX_ENTRIES + 1).map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

fn too_many(root: &Path, limit: &str) -> Failure {
    Failure::new(format!("{} has more than {limit}.", root.display()), "Name the folder of one workload.")
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'))
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    !is_hidden(path) && matches!(extension.as_deref(), Some("yaml" | "yml" | "json"))
}

/// A failure that names what could not be read, and the cause.
pub(super) fn read_error(shown: &str, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(format!("{shown} can't be read: {why}."), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_files(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "kind: A").unwrap();
        }
        root
    }

    fn names(root: &Path, paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| relative_name(root, path)).collect()
    }

    #[test]
    fn folders_below_are_read_on_request_and_named_otherwise_and_hidden_ones_never() {
        let root = create_files(&[
            "a.yaml",
            "one/b.yaml",
            "one/two/c.json",
            "text/readme.md",
            ".github/check.yml",
            "one/.cache/d.yaml",
        ]);
        let alone = FolderContent::find(root.path(), false).unwrap();
        assert_eq!(names(root.path(), &alone.files), ["a.yaml"]);
        assert_eq!(names(root.path(), &alone.unread), ["one", "one/two"]);
        let [warning]: [Finding; 1] = alone.warnings(root.path()).try_into().unwrap();
        assert_eq!(warning.message, "2 folders below were not read: one, one/two.");
        assert!(warning.hint.contains("-R") && !warning.is_blocking(), "{warning:?}");

        let all = FolderContent::find(root.path(), true).unwrap();
        assert_eq!(names(root.path(), &all.files), ["a.yaml", "one/b.yaml", "one/two/c.json"]);
        assert_eq!(all.warnings(root.path()), []);
    }

    #[test]
    fn a_tree_over_the_limit_of_its_depth_is_refused_and_one_at_the_limit_is_read() {
        let deep = |depth: usize| format!("{}a.yaml", "f/".repeat(depth));
        let read = |depth: usize| {
            let root = create_files(&[&deep(depth)]);
            FolderContent::find(root.path(), true).map(|content| content.files.len())
        };
        assert_eq!(read(MAX_DEPTH).unwrap(), 1);
        let Failure::Report(report) = read(MAX_DEPTH + 1).unwrap_err() else { panic!("not a report") };
        assert!(report.message.contains("more than 32 folders"), "{}", report.message);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folder_and_to_folders_are_not_followed_but_named() {
        use std::os::unix::fs::symlink;

        let root = create_files(&["app/real/a.yaml", "others/secret.yaml"]);
        let app = root.path().join("app");
        symlink(app.join("real/a.yaml"), app.join("inside.yaml")).unwrap();
        symlink(root.path().join("others/secret.yaml"), app.join("outside.yaml")).unwrap();
        symlink(root.path().join("others"), app.join("folder")).unwrap();
        symlink(&app, app.join("real/loop")).unwrap();
        symlink("/dev/zero", app.join("zero.yaml")).unwrap();
        symlink("nowhere.yaml", app.join("broken.yaml")).unwrap();
        let found = FolderContent::find(&app, true).unwrap();
        assert_eq!(names(&app, &found.files), ["inside.yaml", "real/a.yaml"]);
        assert_eq!(names(&app, &found.links), ["broken.yaml", "folder", "outside.yaml", "real/loop"]);
        let [warning]: [Finding; 1] = found.warnings(&app).try_into().unwrap();
        assert!(warning.message.contains("outside.yaml"), "{}", warning.message);
    }
}
