//! Collects the files of a workload from the paths of `-f`. Sizes and numbers are bounded; only UTF-8 text is accepted.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use domain::manifest::{self, MAX_DOCUMENTS, MAX_TEXT_BYTES};
use domain::workload::SourceFile;
use domain::{Finding, name};

use crate::failure::Failure;

mod folder;

use folder::{FolderContent, read_error};

/// The file name of stdin.
const STDIN_FILE_NAME: &str = "stdin.yaml";

/// The files of a workload.
#[derive(Debug, Default)]
pub struct CollectedFiles {
    /// The files, sorted by name within a folder, otherwise in the order of the flags.
    pub files: Vec<SourceFile>,
    /// A workload name derived from the file or folder name, if possible.
    pub suggested_name: Option<String>,
    /// Warnings about the files of folders that hold data of other tools, such as values. A file that is named itself is a manifest.
    pub left_out: Vec<Finding>,
    display_paths: BTreeMap<String, String>,
    bytes: usize,
}

impl CollectedFiles {
    /// The path of a file as the user gave it, so that an editor can open the location of a finding.
    pub fn display_path(&self, file: &str) -> String {
        self.display_paths.get(file).cloned().unwrap_or_else(|| file.to_owned())
    }

    /// Rejects empty input: an empty draft is valid and its publish deletes all objects, so a broken pipe must not create
    /// one.
    fn check_not_empty(&self) -> Result<(), Failure> {
        let content = |line: &str| {
            !line.trim().is_empty() && !line.trim_start().starts_with('#') && line.trim() != "---"
        };
        if self.files.iter().any(|file| file.text.lines().any(content)) {
            return Ok(());
        }
        let shown: Vec<&str> = self.display_paths.values().map(String::as_str).collect();
        let left_out: String = self.left_out.iter().map(|found| format!(" {}", found.message)).collect();
        Err(Failure::new(
            format!("{} contains no manifest.{left_out}", shown.join(", ")),
            "To remove a workload from its clusters, run \"flotilla unpublish\".",
        ))
    }

    /// Rejects stdin, which can't be written back.
    pub fn check_writable(&self) -> Result<(), Failure> {
        if self.files.iter().any(|file| self.display_path(&file.name) == "stdin") {
            return Err(Failure::usage(
                "Input from stdin can't be written back.",
                "Name a file or a folder.",
            ));
        }
        Ok(())
    }

    /// Writes back the files whose text differs from the collected text.
    pub fn write_changed_files(&self, files: &[SourceFile]) -> Result<(), Failure> {
        let changed = files.iter().zip(&self.files).filter(|(new, old)| new.text != old.text);
        for (file, _) in changed {
            let path = self.display_path(&file.name);
            fs::write(&path, &file.text)
                .map_err(|error| Failure::new(format!("{path} can't be written: {error}."), ""))?;
        }
        Ok(())
    }

    fn add_file(&mut self, short: String, shown: String, text: String) {
        // Two folders may each have a service.yaml; the second is named by its full path.
        let name = if self.display_paths.contains_key(&short) { shown.clone() } else { short };
        self.display_paths.insert(name.clone(), shown);
        self.files.push(SourceFile { name, text });
    }

    fn read_file(&mut self, path: &Path, short: String, shown: String) -> Result<(), Failure> {
        if self.files.len() >= MAX_DOCUMENTS {
            return Err(Failure::new(
                format!("There are more than {MAX_DOCUMENTS} files."),
                "Name the folder of one workload.",
            ));
        }
        let file = File::open(path).map_err(|error| read_error(&shown, &error))?;
        let text = self.read_text(file, &shown)?;
        self.add_file(short, shown, text);
        Ok(())
    }

    fn read_text(&mut self, from: impl Read, shown: &str) -> Result<String, Failure> {
        let left = MAX_TEXT_BYTES - self.bytes.min(MAX_TEXT_BYTES);
        let mut bytes = Vec::new();
        from.take(left as u64 + 1).read_to_end(&mut bytes).map_err(|error| read_error(shown, &error))?;
        if bytes.len() > left {
            return Err(Failure::new(
                format!("With {shown} the files are larger than {} MiB together.", MAX_TEXT_BYTES >> 20),
                "Leave out files that are not Kubernetes manifests, or split them into several workloads.",
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

/// Collects the files of the paths: a file, a folder (its visible `*.yaml`, `*.yml` and `*.json`, by name; with `is_recursive` those of
/// the folders below too), or `-`.
pub fn collect_files(paths: &[PathBuf], is_recursive: bool) -> Result<CollectedFiles, Failure> {
    let mut collected = CollectedFiles::default();
    for path in paths {
        if path.as_os_str() == "-" {
            let text = collected.read_text(io::stdin().lock(), "stdin")?;
            collected.add_file(STDIN_FILE_NAME.to_owned(), "stdin".to_owned(), text);
        } else if read_metadata(path)?.is_dir() {
            collect_folder(&mut collected, path, is_recursive)?;
        } else {
            let shown = path.display().to_string();
            let short = path.file_name().map(|name| name.to_string_lossy().into_owned());
            collected.read_file(path, short.unwrap_or_else(|| shown.clone()), shown)?;
        }
    }
    if let [path] = paths {
        collected.suggested_name = suggest_name(path);
    }
    collected.check_not_empty()?;
    Ok(collected)
}

fn read_metadata(path: &Path) -> Result<fs::Metadata, Failure> {
    let shown = path.display().to_string();
    if shown.starts_with("http://") || shown.starts_with("https://") {
        return Err(Failure::usage(
            format!("{shown} is a URL; -f accepts a file, a folder, or - for stdin."),
            format!("Download it first, for example: curl -sSf {shown} | flotilla apply --name NAME -f -"),
        ));
    }
    fs::metadata(path).map_err(|error| read_error(&shown, &error))
}

fn collect_folder(collected: &mut CollectedFiles, folder: &Path, is_recursive: bool) -> Result<(), Failure> {
    let found = FolderContent::find(folder, is_recursive)?;
    if found.files.is_empty() {
        let below = match found.has_unread() {
            true => " Folders below are read with -R; or name the one that holds the manifests.",
            false => "",
        };
        let unread: String =
            found.warnings(folder).iter().map(|warning| format!(" {}", warning.message)).collect();
        return Err(Failure::new(
            format!("{} contains no manifest.{unread}", folder.display()),
            format!("Manifests are files that end in .yaml, .yml or .json.{below}"),
        ));
    }
    collected.left_out.extend(found.warnings(folder));
    let first = collected.files.len();
    for path in found.files {
        let shown = path.display().to_string();
        collected.read_file(&path, folder::relative_name(folder, &path), shown)?;
    }
    // As in a repository: only what stands in a folder is left out.
    let (manifests, left_out) = manifest::leave_out_data(collected.files.split_off(first));
    collected.files.extend(manifests);
    collected.left_out.extend(left_out);
    Ok(())
}

/// A workload name derived from the file or folder name.
fn suggest_name(path: &Path) -> Option<String> {
    if path.as_os_str() == "-" {
        return None;
    }
    let whole = fs::canonicalize(path).ok()?;
    // The name of a shell pipe (`-f <(helm template …)`) is a number.
    if whole.starts_with("/proc") || whole.starts_with("/dev") {
        return None;
    }
    let name = if whole.is_dir() { whole.file_name() } else { whole.file_stem() };
    name::suggest_label(&name?.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_files(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        root
    }

    fn failure_text(paths: &[PathBuf]) -> String {
        let Failure::Report(report) = collect_files(paths, false).unwrap_err() else {
            panic!("not a report")
        };
        format!("{} {}", report.message, report.hint)
    }

    #[test]
    fn a_folder_yields_its_manifests_sorted_by_name_and_no_other_file() {
        let root = create_files(&[
            ("Shop_1/b.yml", b"kind: B"),
            ("Shop_1/a.yaml", b"kind: A"),
            ("Shop_1/c.JSON", br#"{"kind": "C"}"#),
            ("Shop_1/.hidden.yaml", b"x: 1"),
            ("Shop_1/readme.md", b"x"),
            ("Shop_1/deep/d.yaml", b"d: 1"),
        ]);
        let folder = root.path().join("Shop_1");
        let collected = collect_files(std::slice::from_ref(&folder), false).unwrap();
        let names: Vec<&str> = collected.files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["a.yaml", "b.yml", "c.JSON"]);
        assert_eq!(collected.suggested_name.as_deref(), Some("shop-1"));
        assert_eq!(collected.display_path("a.yaml"), folder.join("a.yaml").display().to_string());
        let [warning] = collected.left_out.as_slice() else { panic!("{:?}", collected.left_out) };
        assert_eq!(warning.message, "1 folder below was not read: deep.");
        let all = collect_files(std::slice::from_ref(&folder), true).unwrap();
        let names: Vec<&str> = all.files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["a.yaml", "b.yml", "c.JSON"], "deep/d.yaml has neither apiVersion nor kind");
        assert!(all.left_out[0].message.contains("deep/d.yaml"), "{:?}", all.left_out);
    }

    #[test]
    fn files_with_the_same_name_in_two_folders_stay_distinct() {
        let root = create_files(&[("a/web.yaml", b"kind: A"), ("b/web.yaml", b"kind: B")]);
        let paths = [root.path().join("a"), root.path().join("b/web.yaml")];
        let collected = collect_files(&paths, false).unwrap();
        assert_eq!(collected.files[0].name, "web.yaml");
        assert_eq!(collected.files[1].name, paths[1].display().to_string());
        assert_eq!(collected.suggested_name, None);
    }

    #[test]
    fn data_of_other_tools_in_a_folder_is_left_out_and_a_file_that_is_named_is_not() {
        let root = create_files(&[
            ("app/config.yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"),
            ("app/half.yaml", b"kind: ConfigMap\n"),
            ("app/values-production.yaml", b"replicas: 9\n"),
            ("app/dashboard.json", br#"{"panels": []}"#),
            ("data/values.yaml", b"replicas: 9\n"),
        ]);
        let collected = collect_files(&[root.path().join("app")], false).unwrap();
        let names: Vec<&str> = collected.files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["config.yaml", "half.yaml"], "what has one of both fields is a broken object");
        let [warning] = collected.left_out.as_slice() else { panic!("{:?}", collected.left_out) };
        assert_eq!((&*warning.code, warning.is_blocking()), ("G109", false));
        assert!(warning.message.contains("values-production.yaml"), "{}", warning.message);
        assert!(warning.message.contains("dashboard.json"), "{}", warning.message);

        let named = collect_files(&[root.path().join("app/values-production.yaml")], false).unwrap();
        assert_eq!((named.files.len(), named.left_out.len()), (1, 0));
        let only_data = failure_text(&[root.path().join("data")]);
        assert!(only_data.contains("contains no manifest. \"values.yaml\" is left out"), "{only_data}");
    }

    #[test]
    fn an_unreadable_path_is_named_with_the_cause() {
        let root = create_files(&[
            ("bin/x.yaml", b"one\ntwo \xff"),
            ("empty/deep/x.yaml", b""),
            ("big.yaml", &vec![b' '; MAX_TEXT_BYTES + 1]),
        ]);
        assert!(failure_text(&[root.path().join("none")]).contains("no such file or folder"));
        assert!(failure_text(&[root.path().join("bin")]).contains("not UTF-8 text (line 2)"));
        assert!(failure_text(&[root.path().join("empty")]).contains("Folders below are read with -R"));
        assert!(failure_text(&[root.path().join("big.yaml")]).contains("larger than 10 MiB"));
        assert!(failure_text(&["https://example.com/x.yaml".into()]).contains("curl"));
    }

    #[test]
    fn an_empty_pipe_does_not_empty_a_workload() {
        let root = create_files(&[("x/a.yaml", b"# only a remark\n---\n"), ("x/b.yaml", b"")]);
        assert!(failure_text(&[root.path().join("x")]).contains("contains no manifest"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_special_files_are_skipped() {
        let root = create_files(&[("real/a.yaml", b"kind: A"), ("linked/keep.txt", b"")]);
        std::os::unix::fs::symlink(root.path().join("real/a.yaml"), root.path().join("linked/z.yaml"))
            .unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.path().join("linked/zero.yaml")).unwrap();
        let collected = collect_files(&[root.path().join("linked")], false).unwrap();
        assert_eq!(collected.files.len(), 1);
    }
}
