//! The fields of a Git source, with findings while a person types.

use domain::finding::{Finding, sort_findings};
use domain::git_status::GitSourceStatus;
use domain::remote::{OnNewCommit, PinnedCommit, RemoteSource};
use domain::workload::{Source, WorkloadSpec};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::commit::describe_commit;
use super::queries::git_preview_read;
use super::status::GitStatus;
use crate::components::findings::summarize_findings;
use crate::components::{Editor, ErrorBanner, FindingList};
use crate::errors::AppResult;
use crate::parsing::parse_text;

/// The name of the values in links from findings.
const VALUES_FILE: &str = "values.yaml";

/// The fields as they are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitForm {
    /// Whether the source is a Git repository or an OCI artifact; the fields of other sources are not sent.
    pub is_git: bool,
    /// URL of the repository.
    pub repository: String,
    /// The ref; empty for the default branch.
    pub reference: String,
    /// The path; empty for the whole repository.
    pub path: String,
    /// What happens when the ref moves.
    pub on_new_commit: OnNewCommit,
    /// Name of the Helm release, for a chart.
    pub release_name: String,
    /// The common values, for a chart.
    pub values: String,
}

impl GitForm {
    /// The source of these fields; line ends are normalised to `\n`. The hub sets the commit.
    pub fn to_source(&self) -> RemoteSource {
        let mut source = RemoteSource {
            repository: self.repository.clone(),
            reference: self.reference.clone(),
            path: self.path.clone(),
            on_new_commit: self.on_new_commit,
            release_name: self.release_name.trim().to_owned(),
            values: self.values.replace("\r\n", "\n"),
            pinned: None,
        };
        source.normalize();
        source
    }
}

/// A Git source that is being edited.
#[derive(Debug, Clone, Copy)]
pub struct GitDraft {
    repository: RwSignal<String>,
    reference: RwSignal<String>,
    path: RwSignal<String>,
    on_new_commit: RwSignal<OnNewCommit>,
    release_name: RwSignal<String>,
    values: RwSignal<String>,
    is_chart: bool,
}

impl GitDraft {
    /// The fields of `source`.
    pub fn new(source: &RemoteSource) -> Self {
        Self {
            repository: RwSignal::new(source.repository.clone()),
            reference: RwSignal::new(source.reference.clone()),
            path: RwSignal::new(source.path.clone()),
            on_new_commit: RwSignal::new(source.on_new_commit),
            release_name: RwSignal::new(source.release_name.clone()),
            values: RwSignal::new(source.values.clone()),
            is_chart: source.is_chart() || !source.values.is_empty(),
        }
    }

    /// The current fields.
    pub fn form(self) -> GitForm {
        GitForm {
            is_git: true,
            repository: self.repository.get(),
            reference: self.reference.get(),
            path: self.path.get(),
            on_new_commit: self.on_new_commit.get(),
            release_name: self.release_name.get(),
            values: self.values.get(),
        }
    }

    /// Findings on the fields; the content of the repository is checked by the server.
    pub fn findings(self, name: Signal<String>, namespace: Signal<String>) -> Memo<Vec<Finding>> {
        Memo::new(move |_| {
            let spec = WorkloadSpec {
                namespace: namespace.get(),
                source: Source::from(self.form().to_source()),
                ..WorkloadSpec::default()
            };
            let name = name.get();
            let mut findings = parse_text(|| domain::workload::check(&name, &spec));
            // Whether there are waves is not known here; the checks of the draft report it.
            findings.retain(|found| found.path.starts_with("/source") && found.path != "/source/onNewCommit");
            sort_findings(&mut findings);
            findings
        })
    }
}

/// The fields; `prefix` is that of the form.
#[component]
pub fn GitFields(
    draft: GitDraft,
    findings: Memo<Vec<Finding>>,
    prefix: &'static str,
    workload: String,
    /// The state of the stored source, if the query of the page found it.
    status: Option<AppResult<GitSourceStatus>>,
) -> impl IntoView {
    let field = move |part: &str| format!("{prefix}[git][{part}]");
    let values = draft.is_chart.then(|| chart_fields(draft, findings, prefix, workload.clone()));
    let has_address = !draft.repository.get_untracked().is_empty();
    let status = has_address.then(|| view! { <GitStatus name=workload.clone() status=status /> });
    view! {
        <div class="stack-md">
            <input type="hidden" name=field("is_git") value="true" />
            <div class="field">
                <label class="field-label" for="git-repository">"Repository"</label>
                <input class="input input-mono" id="git-repository" name=field("repository") value=draft.repository.get_untracked()
                    required=true maxlength="500" placeholder="https://github.com/acme/deploy.git" autocomplete="off" autocapitalize="off"
                    spellcheck="false" aria-describedby="git-repository-help" on:input=move |ev| draft.repository.set(event_target_value(&ev)) />
                <p class="field-help" id="git-repository-help">
                    "Git over https:// or SSH, or an OCI artifact: oci://registry/path. Credentials are added on the page "
                    <a class="link" href=crate::paths::CHARTS>"Charts"</a> "."
                </p>
            </div>
            <div class="grid gap-5 md:grid-cols-2">
                {text_field("git-ref", field("reference"), "Ref", "Branch, tag or full commit; for an artifact a tag or digest. Empty for the default branch, or latest.", draft.reference)}
                {text_field("git-path", field("path"), "Path", "Folder with manifests or a chart, or one file; empty for all.", draft.path)}
            </div>
            <div class="field">
                <label class="field-label" for="git-on-new-commit">"When the ref moves"</label>
                <select class="select" id="git-on-new-commit" name=field("on_new_commit") on:change=move |ev| {
                    let value = event_target_value(&ev);
                    let chosen = OnNewCommit::ALL.iter().find(|policy| policy.as_str() == value);
                    draft.on_new_commit.set(chosen.copied().unwrap_or_default());
                }>
                    {OnNewCommit::ALL.iter().map(|policy| {
                        let selected = *policy == draft.on_new_commit.get_untracked();
                        view! { <option value=policy.as_str() selected=selected>{policy_label(*policy)}</option> }
                    }).collect_view()}
                </select>
            </div>
            <CommitPreview draft=draft />
            {status}
            {values}
            <section class="stack-sm" aria-labelledby="findings">
                <h2 class="section" id="findings">
                    "Findings "
                    <span class="meta font-normal" aria-live="polite">{move || findings.with(|all| summarize_findings(all))}</span>
                </h2>
                {move || view! { <FindingList findings=findings.get() /> }}
            </section>
        </div>
    }
    .into_any()
}

const fn policy_label(policy: OnNewCommit) -> &'static str {
    match policy {
        OnNewCommit::Draft => "Change the draft; a person publishes it",
        OnNewCommit::FirstWave => "Publish to the first wave, then wait for approval",
        OnNewCommit::All => "Publish",
    }
}

fn text_field(
    id: &'static str,
    name: String,
    label: &'static str,
    help: &'static str,
    value: RwSignal<String>,
) -> AnyView {
    view! {
        <div class="field">
            <label class="field-label" for=id>{label}</label>
            <input class="input input-mono" id=id name=name value=value.get_untracked() maxlength="512" autocomplete="off"
                autocapitalize="off" spellcheck="false" on:input=move |ev| value.set(event_target_value(&ev)) />
            <p class="field-help">{help}</p>
        </div>
    }
    .into_any()
}

/// Release name and values, which only a chart has.
fn chart_fields(
    draft: GitDraft,
    findings: Memo<Vec<Finding>>,
    prefix: &'static str,
    workload: String,
) -> AnyView {
    let field = move |part: &str| format!("{prefix}[git][{part}]");
    let own = Signal::derive(move || findings.get());
    view! {
        <div class="field">
            <label class="field-label" for="release-name">"Release name"</label>
            <input class="input input-mono" id="release-name" name=field("release_name") value=draft.release_name.get_untracked()
                placeholder=workload maxlength="53" autocomplete="off" autocapitalize="off" spellcheck="false"
                on:input=move |ev| draft.release_name.set(event_target_value(&ev)) />
            <p class="field-help">"Name of the Helm release; the workload's name by default."</p>
        </div>
        <section class="stack-sm" aria-labelledby="values-title">
            <h2 class="section" id="values-title">"Values"</h2>
            <p class="text-2">"Only what differs from the chart's defaults."</p>
            <Editor field=field("values") file=Signal::stored(VALUES_FILE.to_owned()) text=draft.values.get_untracked()
                findings=own on_text=Callback::new(move |text| draft.values.set(text)) />
        </section>
    }
    .into_any()
}

/// The button that reads the repository, and what it found.
#[component]
fn CommitPreview(draft: GitDraft) -> impl IntoView {
    let check = Action::new(move |form: &GitForm| {
        let GitForm { repository, reference, path, .. } = form.clone();
        git_preview_read(repository, reference, path)
    });
    let result = move || {
        check.value().get().map(|found: AppResult<PinnedCommit>| match found {
            Ok(pinned) => describe_commit(&pinned).into_any(),
            Err(error) => view! { <ErrorBanner error=error /> }.into_any(),
        })
    };
    view! {
        <div class="stack-sm" aria-live="polite">
            <div>
                <button class="btn" type="button" disabled=move || check.pending().get()
                    on:click=move |_| drop(check.dispatch(untrack(|| draft.form())))>
                    {move || if check.pending().get() { "Reading…" } else { "Read repository" }}
                </button>
            </div>
            {result}
        </div>
    }
    .into_any()
}
