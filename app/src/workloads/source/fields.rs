//! Editors for the files of a source, with findings of the guard rails while a person types.

use domain::finding::{Finding, sort_findings};
use domain::fix::{self, Fix};
use domain::guard::{self, ClusterSchemas};
use domain::manifest;
use domain::schema::Schema;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use leptos::prelude::*;
use std::time::Duration;

use crate::components::findings::{summarize_findings, worst_style};
use crate::components::{Editor, FindingList, icon};
use crate::live::editor::set_text;
use crate::live::files::{LocalFile, read_dropped_files, read_picked_files};
use crate::live::schema;
use crate::parsing::parse_text;

/// Pause in typing after which the text is checked.
const PAUSE: Duration = Duration::from_millis(200);

/// A file that is being edited.
#[derive(Debug, Clone, Copy)]
pub struct FileDraft {
    key: u32,
    name: RwSignal<String>,
    text: RwSignal<String>,
}

/// All files being edited.
#[derive(Debug, Clone, Copy)]
pub struct FileDrafts {
    files: RwSignal<Vec<FileDraft>>,
    next_key: StoredValue<u32>,
    rejected: RwSignal<Vec<String>>,
    /// `None` once something else is changed.
    removal: RwSignal<Option<UndoableRemoval>>,
}

/// The latest removal, which can be undone until something else is changed.
#[derive(Debug, Clone)]
struct UndoableRemoval {
    /// What was removed.
    what: String,
    place: RemovalPlace,
    /// The files before it.
    before: Vec<(FileDraft, SourceFile)>,
    /// The files after it.
    after: Vec<SourceFile>,
}

/// Where a removal can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalPlace {
    /// Below the editors.
    Editors,
    /// Below the form beside them.
    Form,
}

impl FileDrafts {
    /// Editors for `files`; one empty file if there are none.
    pub fn new(files: &[SourceFile]) -> Self {
        let drafts = Self {
            files: RwSignal::default(),
            next_key: StoredValue::new(0),
            rejected: RwSignal::default(),
            removal: RwSignal::new(None),
        };
        drafts.forget_removal_after_changes();
        for file in files {
            drafts.push(&file.name, &file.text);
        }
        if files.is_empty() {
            drafts.push("deploy.yaml", "");
        }
        drafts
    }

    fn push(self, name: &str, text: &str) {
        let key = self.next_key.get_value();
        self.next_key.set_value(key + 1);
        let draft =
            FileDraft { key, name: RwSignal::new(name.to_owned()), text: RwSignal::new(text.to_owned()) };
        self.files.update(|files| files.push(draft));
    }

    /// Key, name and text of every file.
    pub fn texts(self) -> Vec<(u32, String, String)> {
        self.files
            .with(|files| files.iter().map(|file| (file.key, file.name.get(), file.text.get())).collect())
    }

    /// The text of the file with this key.
    pub fn text_signal(self, key: u32) -> Option<RwSignal<String>> {
        self.files.with_untracked(|files| files.iter().find(|file| file.key == key).map(|file| file.text))
    }

    /// Makes a change that removes something, so that it can be undone. One that contains others is undone as a whole.
    pub fn remove_with_undo(self, what: String, place: RemovalPlace, remove: impl FnOnce()) {
        let files = self.files.get_untracked();
        let before: Vec<(FileDraft, SourceFile)> = files.into_iter().zip(untrack(|| self.files())).collect();
        remove();
        let after = untrack(|| self.files());
        if before.iter().map(|(_, file)| file).ne(after.iter()) {
            self.removal.set(Some(UndoableRemoval { what, place, before, after }));
        }
    }

    /// Drops the latest removal, with its copies of the files, once something else is changed.
    fn forget_removal_after_changes(self) {
        Effect::new(move |_| {
            let is_over = self
                .removal
                .with(|removal| removal.as_ref().is_some_and(|removal| !self.has_files(&removal.after)));
            if is_over {
                self.removal.set(None);
            }
        });
    }

    /// Whether these are the current files. Compares without a copy.
    fn has_files(self, expected: &[SourceFile]) -> bool {
        self.files.with(|files| {
            let is_same = |(file, expected): (&FileDraft, &SourceFile)| {
                file.name.with(|name| *name == expected.name) && file.text.with(|text| *text == expected.text)
            };
            files.len() == expected.len() && files.iter().zip(expected).all(is_same)
        })
    }

    fn undo_removal(self) {
        let Some(removal) = self.removal.get_untracked() else { return };
        self.removal.set(None);
        for (draft, file) in &removal.before {
            if draft.text.with_untracked(|text| *text != file.text) {
                draft.text.set(file.text.clone());
            }
        }
        self.files.set(removal.before.into_iter().map(|(draft, _)| draft).collect());
    }

    /// What was removed here, with a button that undoes it; nothing after another change.
    pub fn removal_view(self, place: RemovalPlace) -> AnyView {
        let what = Memo::new(move |_| {
            self.removal.with(|removal| {
                let removal = removal.as_ref().filter(|removal| removal.place == place)?;
                Some(removal.what.clone())
            })
        });
        let undo = move |what: String| {
            view! {
                <p class="flex flex-wrap items-center gap-2">
                    {format!("Removed {what}.")}
                    <button class="btn btn-sm" type="button" on:click=move |_| self.undo_removal()>
                        "Undo"
                    </button>
                </p>
            }
        };
        view! { <div class="empty:hidden" role="status">{move || what.get().map(undo)}</div> }.into_any()
    }

    fn remove_file(self, key: u32) {
        self.files.update(|files| files.retain(|file| file.key != key));
    }

    /// Adds a picked or dropped file. It replaces the file of the same name, or else an empty file.
    fn add_file(self, file: &LocalFile) {
        let text = match &file.text {
            Ok(text) => text,
            Err(why) => return self.rejected.update(|all| all.push(format!("{} {why}.", file.name))),
        };
        let old = self.files.with_untracked(|files| {
            let same = files.iter().find(|old| old.name.get_untracked() == file.name);
            same.or_else(|| files.iter().find(|old| old.text.with_untracked(|text| text.trim().is_empty())))
                .copied()
        });
        let Some(old) = old else { return self.push(&file.name, text) };
        let what = format!("the former text of {}", old.name.get_untracked());
        let is_blank = old.text.with_untracked(|text| text.trim().is_empty());
        let replace = || {
            self.remove_file(old.key);
            self.push(&file.name, text);
        };
        if is_blank { replace() } else { self.remove_with_undo(what, RemovalPlace::Editors, replace) }
    }

    /// The current files.
    pub fn files(self) -> Vec<SourceFile> {
        self.files.with(|files| {
            files.iter().map(|file| SourceFile { name: file.name.get(), text: file.text.get() }).collect()
        })
    }

    /// Applies a fix as one edit that can be undone. A fix for a text that has changed since does nothing: the findings of
    /// the new text follow.
    pub fn apply_fix(self, fix: &Fix) {
        let Ok(fixed) = fix::apply(&untrack(|| self.files()), fix) else { return };
        let files = self.files.get_untracked();
        for (file, fixed) in files.iter().zip(fixed) {
            if file.text.with_untracked(|text| *text != fixed.text) {
                set_text(&fixed.name, &fixed.text);
                file.text.set(fixed.text);
            }
        }
    }

    /// Findings of the guard rails, updated when typing pauses.
    pub fn findings(self, name: Signal<String>, namespace: Signal<String>) -> Memo<Vec<Finding>> {
        let checked =
            RwSignal::new((name.get_untracked(), namespace.get_untracked(), untrack(|| self.files())));
        let mut refresh = debounce(PAUSE, move |now| checked.set(now));
        Effect::new(move |before: Option<()>| {
            let now = (name.get(), namespace.get(), self.files());
            if before.is_some() {
                refresh(now);
            }
        });
        let kinds = schema::schema_signal();
        Effect::new(move |_| {
            if checked.with(|(_, _, files)| !is_blank(files)) {
                schema::fetch_schema(kinds);
            }
        });
        Memo::new(move |_| {
            let kinds = kinds.get().unwrap_or_default();
            checked.with(|(name, namespace, files)| check_files(&kinds, name, namespace, files))
        })
    }
}

fn is_blank(files: &[SourceFile]) -> bool {
    files.iter().all(|file| file.text.trim().is_empty())
}

/// Checks a draft with the static guard rails and the given schemas. Empty files have no findings.
pub fn check_files(kinds: &Schema, name: &str, namespace: &str, files: &[SourceFile]) -> Vec<Finding> {
    if is_blank(files) {
        return Vec::new();
    }
    let source = Source::Yaml { files: files.to_vec() };
    let spec = WorkloadSpec { namespace: namespace.to_owned(), source, ..WorkloadSpec::default() };
    let kinds = ClusterSchemas::from_schema(kinds);
    let mut findings = parse_text(|| guard::check_static_with(&kinds, name, &spec, &manifest::parse(files)));
    // The placement has a form of its own.
    let not_yet = |finding: &Finding| name.is_empty() && finding.code == guard::INVALID_NAME;
    findings.retain(|finding| !not_yet(finding) && !finding.path.starts_with("/placement"));
    sort_findings(&mut findings);
    findings
}

/// The editors, the controls that add a file, and the list of findings.
#[component]
pub fn FilesEditor(
    /// The files.
    drafts: FileDrafts,
    /// Findings of the guard rails about them.
    findings: Memo<Vec<Finding>>,
    /// Prefix of the form's fields.
    prefix: &'static str,
) -> impl IntoView {
    let add_file = Callback::new(move |file: LocalFile| drafts.add_file(&file));
    let apply_fix = Callback::new(move |fix: Fix| drafts.apply_fix(&fix));
    view! {
        <div class="stack-md" on:dragover=|ev| ev.prevent_default() on:drop=move |ev| read_dropped_files(&ev, add_file)>
            <For each=move || drafts.files.get() key=|file| file.key children=move |file| file_editor(drafts, file, findings, prefix) />
            {drafts.removal_view(RemovalPlace::Editors)}
            <div class="flex flex-wrap items-center gap-2">
                <button class="btn btn-sm" type="button" on:click=move |_| drafts.push(&find_free_file_name(drafts), "")>
                    {icon("plus")}
                    "File"
                </button>
                <label class="btn btn-sm">
                    {icon("upload")}
                    "Upload"
                    <input class="sr-only" type="file" multiple=true accept=".yaml,.yml,.json" on:change=move |ev| read_picked_files(&ev, add_file) />
                </label>
                <span class="meta">"Or drop files here. A file can hold several documents, separated by ---."</span>
            </div>
            {move || drafts.rejected.get().into_iter().map(|why| view! { <p class="field-message hue-degraded">{icon("error")} {why}</p> }).collect_view()}
            <section class="stack-sm source-findings" aria-labelledby="findings">
                <h2 class="section" id="findings">
                    "Findings "
                    <span class="meta font-normal" aria-live="polite">
                        {move || findings.with(|all| summarize_findings(all))}
                    </span>
                </h2>
                {move || view! { <FindingList findings=findings.get() on_fix=apply_fix /> }}
            </section>
        </div>
    }
    .into_any()
}

fn find_free_file_name(drafts: FileDrafts) -> String {
    let used: Vec<String> = untrack(|| drafts.files()).into_iter().map(|file| file.name).collect();
    let free = (2..).map(|n| format!("file-{n}.yaml")).find(|name| !used.contains(name));
    free.unwrap_or_default()
}

fn file_editor(
    drafts: FileDrafts,
    file: FileDraft,
    findings: Memo<Vec<Finding>>,
    prefix: &'static str,
) -> impl IntoView {
    let field = |part: &str| format!("{prefix}[files][{}][{part}]", file.key);
    let here = Memo::new(move |_| {
        let name = file.name.get();
        findings.with(|all| {
            let here = |finding: &&Finding| finding.location.as_ref().is_some_and(|place| place.file == name);
            all.iter().filter(here).cloned().collect::<Vec<_>>()
        })
    });
    let only = move || drafts.files.with(Vec::len) <= 1;
    let mark = move || here.with(|here| (!here.is_empty()).then(|| worst_style(here).icon_view()));
    view! {
        <div>
            <div class="flex items-center gap-2 pb-1">
                {mark}
                <input
                    class="input input-mono max-w-72"
                    name=field("name")
                    value=file.name.get_untracked()
                    aria-label="File name"
                    maxlength="200"
                    required=true
                    on:input=move |ev| file.name.set(event_target_value(&ev))
                />
                <span class="meta ml-auto">
                    "Tab leaves the editor "
                    <kbd class="key">"Ctrl M"</kbd>
                </span>
                <button
                    class="btn btn-sm btn-icon btn-quiet"
                    type="button"
                    aria-label=move || format!("Remove {}", file.name.get())
                    hidden=only
                    on:click=move |_| {
                        let name = file.name.get_untracked();
                        drafts.remove_with_undo(name, RemovalPlace::Editors, || drafts.remove_file(file.key));
                    }
                >
                    {icon("close")}
                </button>
            </div>
            <Editor
                field=field("text")
                file=file.name
                text=file.text.get_untracked()
                findings=here
                on_text=Callback::new(move |text| file.text.set(text))
                now=file.text
            />
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> SourceFile {
        SourceFile { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn an_undone_removal_restores_the_file_at_its_place() {
        Owner::new().with(|| {
            let files = [file("a.yaml", "a: 1"), file("b.yaml", "b: 1")];
            let drafts = FileDrafts::new(&files);
            let first = drafts.texts()[0].0;
            drafts.remove_with_undo("a.yaml".to_owned(), RemovalPlace::Editors, || drafts.remove_file(first));
            assert_eq!(drafts.files(), [file("b.yaml", "b: 1")]);
            drafts.undo_removal();
            assert_eq!(drafts.files(), files);
        });
    }

    #[test]
    fn the_files_are_those_after_a_removal_until_something_else_is_changed() {
        Owner::new().with(|| {
            let drafts = FileDrafts::new(&[file("a.yaml", "a: 1"), file("b.yaml", "b: 1")]);
            let after = [file("b.yaml", "b: 1")];
            assert!(!drafts.has_files(&after));
            drafts.remove_file(drafts.texts()[0].0);
            assert!(drafts.has_files(&after));
            let text = drafts.text_signal(drafts.texts()[0].0).unwrap();
            text.set("b: 2".to_owned());
            assert!(!drafts.has_files(&after), "another text");
            text.set("b: 1".to_owned());
            drafts.push("c.yaml", "");
            assert!(!drafts.has_files(&after), "another file");
        });
    }

    #[test]
    fn an_undone_removal_restores_the_text() {
        Owner::new().with(|| {
            let files = [file("a.yaml", "a: 1\nb: 2")];
            let drafts = FileDrafts::new(&files);
            let text = drafts.text_signal(drafts.texts()[0].0).unwrap();
            drafts.remove_with_undo("b".to_owned(), RemovalPlace::Form, || text.set("a: 1".to_owned()));
            assert_eq!(drafts.files(), [file("a.yaml", "a: 1")]);
            drafts.undo_removal();
            drafts.undo_removal();
            assert_eq!(drafts.files(), files);
        });
    }
}
