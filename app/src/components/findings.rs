//! Findings in one list: code, what is wrong and why, what to do, where; errors first (S0-15).

use domain::finding::{Finding, Severity};
use domain::fix::Fix;
use leptos::prelude::*;

use super::{Look, count_of, icon};

/// The list. Places are links to the editor with that file.
#[component]
pub fn FindingList(
    /// What was found.
    findings: Vec<Finding>,
    /// Address of the page with the editors; empty when they are on this page.
    #[prop(into, default = String::new())]
    editors: String,
    /// Applies a fix to the editors, where they are on this page.
    #[prop(optional)]
    mend: Option<Callback<Fix>>,
) -> impl IntoView {
    let entry = |finding: Finding| {
        let look = Look::of_severity(finding.severity);
        let about = about(&finding);
        let place = finding.place.as_ref().map(|place| {
            let href = format!("{editors}#{}", anchor(&place.file));
            let (line, column) = (place.line.to_string(), place.column.to_string());
            view! {
                <a class="ref name" href=href data-file=place.file.clone() data-line=line data-column=column>
                    {format!("{}:{}", place.file, place.line)}
                </a>
            }
        });
        let button = mend.zip(finding.fix.clone()).map(|(mend, fix)| {
            let does = fix.does.clone();
            view! {
                <button class="btn btn-sm" type="button" title=does.clone() on:click=move |_| mend.run((*fix).clone())>
                    "Fix it" <span class="sr-only">": " {does.clone()}</span>
                </button>
            }
        });
        view! {
            <li class=format!("finding {}", look.hue)>
                {icon(look.icon)} <b class="code">{finding.code.clone()}</b>
                <div>
                    <p>
                        <span class="sr-only">{finding.severity.word()}": "</span>
                        {finding.message.clone()} " " <span class="text-2">{finding.hint.clone()}</span>
                    </p>
                    <p class="meta">
                        {about} {(!finding.object.is_empty() && finding.place.is_some()).then_some(" · ")} {place}
                    </p>
                </div>
                {button}
            </li>
        }
    };
    view! { <ul>{findings.into_iter().map(entry).collect_view()}</ul> }.into_any()
}

fn about(finding: &Finding) -> Option<String> {
    let on = match finding.clusters.len() {
        0 => String::new(),
        n => format!(" on {}", super::joined(&finding.clusters, n, 4)),
    };
    let text = format!("{}{on}", finding.object);
    (!text.is_empty()).then(|| text.trim().to_owned())
}

/// The id of the editor of a file.
pub fn anchor(file: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("file-{}", file.chars().map(safe).collect::<String>())
}

/// `1 error, 2 warnings`, or that there is nothing.
pub fn tally(findings: &[Finding]) -> String {
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (severity, findings.iter().filter(|f| f.severity == severity).count()))
        .filter(|(_, n)| *n > 0)
        .map(|(severity, n)| count_of(u32::try_from(n).unwrap_or(u32::MAX), severity.word()))
        .collect();
    if parts.is_empty() { "No findings".to_owned() } else { parts.join(", ") }
}

/// The look of the worst finding; quiet when there is none.
pub fn worst(findings: &[Finding]) -> Look {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(severity) => Look::of_severity(severity),
        None => Look { icon: "check", hue: "hue-healthy", loud: "state-quiet" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_tallied_worst_first() {
        let findings = [
            Finding::warning("G202", "m", "h"),
            Finding::error("G214", "m", "h"),
            Finding::warning("G210", "m", "h"),
        ];
        assert_eq!(tally(&findings), "1 error, 2 warnings");
        assert_eq!(tally(&[]), "No findings");
        assert_eq!(worst(&findings).icon, "error");
    }

    #[test]
    fn a_file_name_becomes_an_id() {
        assert_eq!(anchor("a b/deploy.yaml"), "file-a-b-deploy-yaml");
    }
}
