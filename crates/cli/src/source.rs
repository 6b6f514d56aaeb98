//! The files of a workload, collected from what `-f` names. Everything is bounded; nothing but text is taken.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use domain::manifest::{MAX_DOCUMENTS, MAX_TEXT_BYTES};
use domain::name;
use domain::workload::SourceFile;

use crate::failure::Failure;

/// The name of what comes from stdin.
const STDIN: &str = "stdin.yaml";

/// The files of a workload.
#[derive(Debug, Default)]
pub struct Collected {
    /// The files, by name within a folder, otherwise in the order given.
    pub files: Vec<SourceFile>,
    /// A workload name made of the file's or folder's name, where there is one.
    pub suggested: Option<String>,
    shown: BTreeMap<String, String>,
    bytes: usize,
}

impl Collected {
    /// The path of a file as the person gave it, so that an editor can open the place of a finding.
    pub fn shown(&self, file: &str) -> String {
        self.shown.get(file).cloned().unwrap_or_else(|| file.to_owned())
    }

    /// An empty draft is valid, and publishing it takes everything away: a pipe that broke must not make one.
    fn check_not_empty(&self) -> Result<(), Failure> {
        let content = |line: &str| {
            !line.trim().is_empty() && !line.trim_start().starts_with('#') && line.trim() != "---"
        };
        if self.files.iter().any(|file| file.text.lines().any(content)) {
            return Ok(());
        }
        let shown: Vec<&str> = self.shown.values().map(String::as_str).collect();
        Err(Failure::new(
            format!("There is nothing in {}.", shown.join(", ")),
            "To take a workload back from its clusters, run \"flotilla unpublish\".",
        ))
    }

    /// Refuses what can't be written back.
    pub fn check_writable(&self) -> Result<(), Failure> {
        if self.files.iter().any(|file| self.shown(&file.name) == "stdin") {
            return Err(Failure::usage(
                "What comes from stdin can't be written back.",
                "Name a file or a folder.",
            ));
        }
        Ok(())
    }

    /// Writes those of these files back that are no longer as they were collected.
    pub fn write(&self, files: &[SourceFile]) -> Result<(), Failure> {
        let changed = files.iter().zip(&self.files).filter(|(new, old)| new.text != old.text);
        for (file, _) in changed {
            let path = self.shown(&file.name);
            fs::write(&path, &file.text)
                .map_err(|error| Failure::new(format!("{path} can't be written: {error}."), ""))?;
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, shown: String, text: String) {
        let short =
            path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
        // Two folders may each have a service.yaml; the second goes by its whole path.
        let name = if self.shown.contains_key(&short) { shown.clone() } else { short };
        self.shown.insert(name.clone(), shown);
        self.files.push(SourceFile { name, text });
    }

    fn read(&mut self, path: &Path, shown: String) -> Result<(), Failure> {
        if self.files.len() >= MAX_DOCUMENTS {
            return Err(Failure::new(
                format!("These are more than {MAX_DOCUMENTS} files."),
                "Give the folder of one workload.",
            ));
        }
        let file = File::open(path).map_err(|error| cannot_read(&shown, &error))?;
        let text = self.text(file, &shown)?;
        self.add(path, shown, text);
        Ok(())
    }

    fn text(&mut self, from: impl Read, shown: &str) -> Result<String, Failure> {
        let left = MAX_TEXT_BYTES - self.bytes.min(MAX_TEXT_BYTES);
        let mut bytes = Vec::new();
        from.take(left as u64 + 1).read_to_end(&mut bytes).map_err(|error| cannot_read(shown, &error))?;
        if bytes.len() > left {
            return Err(Failure::new(
                format!("With {shown} the files are larger than {} MiB together.", MAX_TEXT_BYTES >> 20),
                "Leave out what is no Kubernetes manifest, or make several workloads of it.",
            ));
        }
        self.bytes += bytes.len();
        String::from_utf8(bytes).map_err(|error| {
            let line =
                error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count()
                    + 1;
            Failure::new(
                format!("{shown} is not UTF-8 text (line {line})."),
                "Save it as UTF-8; leave binary files out.",
            )
        })
    }
}

/// Collects what the paths name: a file, a folder (its `*.yaml`, `*.yml` and `*.json`, not hidden, by name), or `-`.
pub fn collect(paths: &[PathBuf]) -> Result<Collected, Failure> {
    let mut collected = Collected::default();
    for path in paths {
        if path.as_os_str() == "-" {
            let text = collected.text(io::stdin().lock(), "stdin")?;
            collected.add(Path::new(STDIN), "stdin".to_owned(), text);
        } else if metadata(path)?.is_dir() {
            folder(&mut collected, path)?;
        } else {
            collected.read(path, path.display().to_string())?;
        }
    }
    if let [path] = paths {
        collected.suggested = suggested(path);
    }
    collected.check_not_empty()?;
    Ok(collected)
}

fn metadata(path: &Path) -> Result<fs::Metadata, Failure> {
    let shown = path.display().to_string();
    if shown.starts_with("http://") || shown.starts_with("https://") {
        return Err(Failure::usage(
            format!("{shown} is an address; -f takes a file, a folder, or - for stdin."),
            format!("Read it first, for example: curl -sSf {shown} | flotilla apply --name NAME -f -"),
        ));
    }
    fs::metadata(path).map_err(|error| cannot_read(&shown, &error))
}

fn folder(collected: &mut Collected, folder: &Path) -> Result<(), Failure> {
    let shown = folder.display().to_string();
    let entries = fs::read_dir(folder).map_err(|error| cannot_read(&shown, &error))?;
    let mut found = Vec::new();
    let mut folders = 0;
    for entry in entries {
        let path = entry.map_err(|error| cannot_read(&shown, &error))?.path();
        // Links are followed: a mounted ConfigMap is a folder of links. What is neither file nor folder (a pipe, a
        // socket) would keep us waiting.
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() && is_manifest(&path) => found.push(path),
            Ok(meta) if meta.is_dir() => folders += 1,
            _ => {}
        }
    }
    if found.is_empty() {
        let below = if folders > 0 {
            " Folders inside it are not looked into; name the one that is meant."
        } else {
            ""
        };
        return Err(Failure::new(
            format!("{shown} holds no manifest."),
            format!("Put files that end in .yaml, .yml or .json there.{below}"),
        ));
    }
    found.sort();
    for path in found {
        let shown = path.display().to_string();
        collected.read(&path, shown)?;
    }
    Ok(())
}

fn is_manifest(path: &Path) -> bool {
    let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    !hidden && matches!(extension.as_deref(), Some("yaml" | "yml" | "json"))
}

/// A workload name made of the file's or folder's name.
fn suggested(path: &Path) -> Option<String> {
    if path.as_os_str() == "-" {
        return None;
    }
    let whole = fs::canonicalize(path).ok()?;
    // A pipe of the shell (`-f <(helm template …)`) has a number for a name.
    if whole.starts_with("/proc") || whole.starts_with("/dev") {
        return None;
    }
    let name = if whole.is_dir() { whole.file_name() } else { whole.file_stem() };
    name::suggest(&name?.to_string_lossy())
}

fn cannot_read(shown: &str, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be read by you".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(format!("{shown} can't be read: {why}."), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        root
    }

    fn told(paths: &[PathBuf]) -> String {
        let told = collect(paths).unwrap_err().told(None).unwrap();
        format!("{} {}", told.message, told.hint)
    }

    #[test]
    fn a_folder_gives_its_manifests_by_name_and_nothing_else() {
        let root = tree(&[
            ("Shop_1/b.yml", b"b: 1"),
            ("Shop_1/a.yaml", b"a: 1"),
            ("Shop_1/c.JSON", b"{}"),
            ("Shop_1/.hidden.yaml", b"x: 1"),
            ("Shop_1/readme.md", b"x"),
            ("Shop_1/deep/d.yaml", b"d: 1"),
        ]);
        let folder = root.path().join("Shop_1");
        let collected = collect(std::slice::from_ref(&folder)).unwrap();
        let names: Vec<&str> = collected.files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["a.yaml", "b.yml", "c.JSON"]);
        assert_eq!(collected.suggested.as_deref(), Some("shop-1"));
        assert_eq!(collected.shown("a.yaml"), folder.join("a.yaml").display().to_string());
    }

    #[test]
    fn files_of_the_same_name_from_two_folders_stay_apart() {
        let root = tree(&[("a/web.yaml", b"a: 1"), ("b/web.yaml", b"b: 1")]);
        let paths = [root.path().join("a"), root.path().join("b/web.yaml")];
        let collected = collect(&paths).unwrap();
        assert_eq!(collected.files[0].name, "web.yaml");
        assert_eq!(collected.files[1].name, paths[1].display().to_string());
        assert_eq!(collected.suggested, None);
    }

    #[test]
    fn what_can_not_be_read_says_which_and_why() {
        let root = tree(&[
            ("bin/x.yaml", b"one\ntwo \xff"),
            ("empty/deep/x.yaml", b""),
            ("big.yaml", &vec![b' '; MAX_TEXT_BYTES + 1]),
        ]);
        assert!(told(&[root.path().join("none")]).contains("no such file or folder"));
        assert!(told(&[root.path().join("bin")]).contains("not UTF-8 text (line 2)"));
        assert!(told(&[root.path().join("empty")]).contains("Folders inside it are not looked into"));
        assert!(told(&[root.path().join("big.yaml")]).contains("larger than 10 MiB"));
        assert!(told(&["https://example.com/x.yaml".into()]).contains("curl"));
    }

    #[test]
    fn an_empty_pipe_does_not_empty_a_workload() {
        let root = tree(&[("x/a.yaml", b"# only a remark\n---\n"), ("x/b.yaml", b"")]);
        assert!(told(&[root.path().join("x")]).contains("There is nothing in"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_what_is_no_file_is_left_out() {
        let root = tree(&[("real/a.yaml", b"a: 1"), ("linked/keep.txt", b"")]);
        std::os::unix::fs::symlink(root.path().join("real/a.yaml"), root.path().join("linked/z.yaml"))
            .unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.path().join("linked/zero.yaml")).unwrap();
        let collected = collect(&[root.path().join("linked")]).unwrap();
        assert_eq!(collected.files.len(), 1);
    }
}
