//! The list of findings: code, message, hint, source location; errors first (S0-15).

use domain::finding::{Finding, Severity};
use domain::fix::Fix;
use leptos::prelude::*;

use super::icon::icon;
use super::status::StatusStyle;
use super::text::pluralize;
use crate::paths::editor_anchor;

/// The list. Source locations are links to the editor of that file.
#[component]
pub fn FindingList(
    /// The findings.
    findings: Vec<Finding>,
    /// Address of the page with the editors; empty when they are on this page.
    #[prop(into, default = String::new())]
    editors: String,
    /// Applies a fix to the editors, where they are on this page.
    #[prop(optional)]
    on_fix: Option<Callback<Fix>>,
    /// Address of the page on which a finding is corrected, where that is another one.
    #[prop(optional)]
    open: Option<Callback<Finding, String>>,
) -> impl IntoView {
    let entry = |finding: Finding| {
        let look = StatusStyle::from_severity(finding.severity);
        let about = describe_subject(&finding);
        let separator = (about.is_some() && finding.location.is_some()).then_some(" · ");
        let place = finding.location.as_ref().map(|place| {
            let href = format!("{editors}#{}", editor_anchor(&place.file));
            let (line, column) = (place.line.to_string(), place.column.to_string());
            view! {
                <a class="ref name" href=href data-file=place.file.clone() data-line=line data-column=column>
                    {format!("{}:{}", place.file, place.line)}
                </a>
            }
        });
        // What is about a cluster alone is corrected on no page of the workload.
        let correctable = open.filter(|_| finding.location.is_some() || !finding.path.is_empty());
        let open = correctable.map(|open| {
            let href = match &finding.location {
                Some(place) => format!("{}#{}", open.run(finding.clone()), editor_anchor(&place.file)),
                None => open.run(finding.clone()),
            };
            view! { <a class="btn btn-sm" href=href>"Show" <span class="sr-only">" "{finding.code.clone()}</span></a> }
        });
        let button = on_fix.zip(finding.fix.clone()).map(|(on_fix, fix)| {
            let does = fix.description.clone();
            view! {
                <button class="btn btn-sm" type="button" title=does.clone() on:click=move |_| on_fix.run((*fix).clone())>
                    "Fix it" <span class="sr-only">": " {does.clone()}</span>
                </button>
            }
        });
        view! {
            <li class=format!("finding {}", look.hue)>
                {icon(look.icon)} <b class="code">{finding.code.clone()}</b>
                <div>
                    <p>
                        <span class="sr-only">{finding.severity.as_str()}": "</span>
                        {finding.message_beside_object().to_owned()} " " <span class="text-2">{finding.hint.clone()}</span>
                    </p>
                    <p class="meta">
                        {about} {separator} {place}
                    </p>
                </div>
                {button}
                {open}
            </li>
        }
    };
    view! { <ul>{findings.into_iter().map(entry).collect_view()}</ul> }.into_any()
}

/// The object, unless the message names it, and the clusters.
fn describe_subject(finding: &Finding) -> Option<String> {
    let on = match finding.clusters.len() {
        0 => String::new(),
        n => format!(" on {}", super::text::join_names(&finding.clusters, n, 4)),
    };
    let text = if finding.is_object_named() { on } else { format!("{}{on}", finding.object) };
    (!text.is_empty()).then(|| text.trim().to_owned())
}

/// `1 error, 2 warnings`, or `No findings`.
pub fn summarize_findings(findings: &[Finding]) -> String {
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (severity, findings.iter().filter(|f| f.severity == severity).count()))
        .filter(|(_, n)| *n > 0)
        .map(|(severity, n)| pluralize(u32::try_from(n).unwrap_or(u32::MAX), severity.as_str()))
        .collect();
    if parts.is_empty() { "No findings".to_owned() } else { parts.join(", ") }
}

/// The style of the worst finding; quiet if there is none.
pub fn worst_style(findings: &[Finding]) -> StatusStyle {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(severity) => StatusStyle::from_severity(severity),
        None => StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_counted_worst_first() {
        let findings = [
            Finding::warning("G202", "m", "h"),
            Finding::error("G214", "m", "h"),
            Finding::warning("G210", "m", "h"),
        ];
        assert_eq!(summarize_findings(&findings), "1 error, 2 warnings");
        assert_eq!(summarize_findings(&[]), "No findings");
        assert_eq!(worst_style(&findings).icon, "error");
    }

    #[test]
    fn a_finding_names_its_object_once() {
        let about = |message: &str, object: &str| {
            let finding = Finding::error("G403", message, "h").with_object(object);
            describe_subject(&finding.with_clusters(vec!["eu-1".to_owned()])).unwrap_or_default()
        };
        let selector = "Deployment \"web\": spec.selector is missing.";
        assert_eq!(about(selector, "Deployment shop/web"), "Deployment shop/web on eu-1");
        assert_eq!(about("Deployment shop/web has no owner.", "Deployment shop/web"), "on eu-1");
        let similar = "Deployment shop/web-2 selects the same pods.";
        assert_eq!(about(similar, "Deployment shop/web"), "Deployment shop/web on eu-1");
        assert_eq!(about("Nothing is selected.", ""), "on eu-1");
    }

    #[test]
    fn a_file_name_becomes_an_id() {
        assert_eq!(editor_anchor("a b/deploy.yaml"), "file-a-b-deploy-yaml");
    }
}
