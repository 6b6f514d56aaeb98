//! How the server reaches a cluster: how its agent joined, the certificate by which it authenticates, and what it may write.

use domain::Timestamp;
use domain::cluster::ClusterKind;
use domain::join::{CertificateState, ClusterAgent, ClusterCertificate, OnboardingStage};
use leptos::prelude::*;

use super::agent_permissions::PermissionSection;
use super::cluster_view::ClusterView;
use super::stages::show_stage;
use crate::components::age::format_utc;
use crate::components::{Age, StatusStyle};
use crate::{live, paths};

/// The tab with everything about the access.
pub fn show_access(view: ClusterView) -> AnyView {
    let ClusterView { summary, permissions, at, .. } = view;
    let (cluster, agent) = (summary.cluster, summary.agent);
    let stages = agent.as_ref().map(|agent| agent.stages.clone());
    view! {
        <div class="split">
            <div class="stack">
                <AgentCredentials name=cluster.name kind=cluster.kind agent=agent at=at is_detailed=true />
                <PermissionSection kind=cluster.kind permissions=permissions />
            </div>
            {stages.map(|stages| view! {
                <aside class="stack" aria-label="Onboarding">
                    <JoinStages stages=stages at=at />
                </aside>
            })}
        </div>
    }
    .into_any()
}

/// The stages in which the agent joined, with their times.
#[component]
pub fn JoinStages(stages: Vec<OnboardingStage>, at: Timestamp) -> impl IntoView {
    let content = if stages.is_empty() {
        view! { <p class="text-2">"Unknown: its registration is no longer stored."</p> }.into_any()
    } else {
        let items = stages.into_iter().map(|stage| show_stage(stage, at)).collect_view();
        view! { <ol class="stages" aria-label="Stages">{items}</ol> }.into_any()
    };
    view! {
        <section class="stack-sm" aria-labelledby="joined">
            <h2 class="section" id="joined">
                "How it joined"
            </h2>
            {content}
        </section>
    }
    .into_any()
}

/// The certificate of the agent, and how it is replaced or revoked.
#[component]
pub fn AgentCredentials(
    /// The name of the cluster.
    name: String,
    /// How it is served.
    kind: ClusterKind,
    /// Its agent, if it has one that has joined.
    agent: Option<ClusterAgent>,
    /// The server's time.
    at: Timestamp,
    /// Whether all facts of the certificate are shown.
    #[prop(optional)]
    is_detailed: bool,
) -> impl IntoView {
    let sentence = |text: &'static str| view! { <p class="text-2">{text}</p> }.into_any();
    let content = match (kind, agent) {
        (ClusterKind::Agent, Some(agent)) => show_certificate(&name, agent.certificate, at, is_detailed),
        (ClusterKind::Agent, None) => sentence("Unknown: nothing is stored about its agent."),
        (ClusterKind::Kubeconfig, _) => sentence(
            "The server connects to it with a kubeconfig. It has no agent of its own, and no certificate of this server.",
        ),
        (ClusterKind::Simulated, _) => {
            sentence("The demo simulates it. It has no agent of its own, and no certificate.")
        }
    };
    view! {
        <section class="panel stack-sm" aria-labelledby="credentials">
            <h2 class="section" id="credentials">
                "Credentials"
            </h2>
            {content}
        </section>
    }
    .into_any()
}

/// The certificate, and the two ways to a new one.
fn show_certificate(
    name: &str,
    certificate: Option<ClusterCertificate>,
    at: Timestamp,
    is_detailed: bool,
) -> AnyView {
    let can_revoke = certificate.as_ref().is_none_or(|certificate| certificate.state.is_valid());
    let revoke = can_revoke.then(|| {
        view! {
            <a class="btn btn-sm btn-danger" href=paths::cluster_dialog(name, "revoke", &[])>
                "Revoke…"
            </a>
        }
    });
    let facts = match certificate {
        Some(certificate) => certificate_facts(certificate, at, is_detailed),
        None => view! { <p class="text-2">"Unknown: no certificate of its agent is stored."</p> }.into_any(),
    };
    let rotation = is_detailed.then(|| {
        view! {
            <p class="text-2">
                "The agent renews its certificate with a new key after two thirds of its lifetime. To replace it now, because its key may \
                 be known to others, generate new manifests for this name, apply them, and accept the agent: every earlier certificate is \
                 then revoked."
            </p>
        }
    });
    let more = (!is_detailed).then(|| {
        view! {
            <a class="btn btn-sm" href=paths::cluster_tab(name, paths::ClusterTab::Access)>
                "How to rotate"
            </a>
        }
    });
    let join = is_detailed.then(|| {
        view! {
            <a class="btn btn-sm" href=paths::JOIN>
                "Generate manifests"
            </a>
        }
    });
    view! {
        {facts}
        {rotation}
        <div class="flex flex-wrap gap-2">{more} {join} {revoke}</div>
    }
    .into_any()
}

fn certificate_facts(certificate: ClusterCertificate, at: Timestamp, is_detailed: bool) -> AnyView {
    let hint = certificate.hint();
    let hint = (!hint.is_empty()).then(|| view! { <p>{hint}</p> });
    let ClusterCertificate { serial, fingerprint, state, issued_at, renewal_at, expires_at, revoked_at } =
        certificate;
    let revoked = revoked_at.map(|revoked_at| {
        view! {
            <dt>"Revoked"</dt>
            <dd>
                <Age since=revoked_at at=at suffix=" ago" />
            </dd>
        }
    });
    let renewal = state.is_valid().then(|| {
        view! {
            <dt>"Renewal"</dt>
            <dd>{time_to(renewal_at, at)}</dd>
        }
    });
    let details = is_detailed.then(|| {
        view! {
            <dt>"Issued"</dt>
            <dd>
                <Age since=issued_at at=at suffix=" ago" />
            </dd>
            <dt>"Key"</dt>
            <dd class="mono break-all">{fingerprint}</dd>
            <dt>"Serial"</dt>
            <dd class="mono break-all">{serial}</dd>
        }
    });
    view! {
        <dl class="pairs">
            <dt>"Certificate"</dt>
            <dd>{state_style(state).with_label(state_label(state))}</dd>
            {revoked}
            <dt>"Expiry"</dt>
            <dd>{time_to(expires_at, at)}</dd>
            {renewal}
            {details}
        </dl>
        {hint}
    }
    .into_any()
}

const fn state_style(state: CertificateState) -> StatusStyle {
    match state {
        CertificateState::Valid => {
            StatusStyle { icon: "healthy", hue: "hue-healthy", emphasis: "state-quiet" }
        }
        CertificateState::RenewalOverdue => {
            StatusStyle { icon: "warning", hue: "hue-drifted", emphasis: "state-attention" }
        }
        CertificateState::Expired | CertificateState::Revoked => {
            StatusStyle { icon: "failed", hue: "hue-degraded", emphasis: "state-broken" }
        }
    }
}

const fn state_label(state: CertificateState) -> &'static str {
    match state {
        CertificateState::Valid => "Valid",
        CertificateState::RenewalOverdue => "Renewal overdue",
        CertificateState::Expired => "Expired",
        CertificateState::Revoked => "Revoked",
    }
}

/// `in 28 d` or `3 min ago`, and the absolute time in the title.
fn time_to(time: Timestamp, at: Timestamp) -> AnyView {
    let now = live::server_now(at);
    let text = move || {
        let now = now.get();
        if time > now {
            format!("in {}", now.format_age(time))
        } else {
            format!("{} ago", time.format_age(now))
        }
    };
    view! {
        <time datetime=time.to_string() title=format_utc(time)>
            {text}
        </time>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use domain::join::{CertificateValidity, OnboardingStageName, OnboardingState};

    use super::*;
    use crate::render_tests::render_html;

    const AT: Timestamp = Timestamp::from_millis(1_763_665_200_000);
    const DAY: i64 = 86_400_000;

    fn render_credentials(certificate: Option<CertificateValidity>, kind: ClusterKind) -> String {
        render_at_detail(certificate, kind, true)
    }

    fn render_at_detail(
        certificate: Option<CertificateValidity>,
        kind: ClusterKind,
        is_detailed: bool,
    ) -> String {
        let certificate = certificate
            .map(|validity| ClusterCertificate::new("0a".to_owned(), "beef".to_owned(), validity, AT));
        let agent = ClusterAgent { version: "1.0.0".to_owned(), stages: Vec::new(), certificate };
        let agent = (kind == ClusterKind::Agent).then_some(agent);
        render_html(move || {
            view! { <AgentCredentials name="eu-1".to_owned() kind=kind agent=agent at=AT is_detailed=is_detailed /> }
        })
    }

    #[test]
    fn beside_other_sections_a_link_leads_to_how_the_certificate_is_replaced() {
        let page = render_at_detail(None, ClusterKind::Agent, false);
        assert!(page.contains("How to rotate") && page.contains("tab=access"), "{page}");
        assert!(!page.contains("Generate manifests"), "{page}");
    }

    #[test]
    fn a_certificate_shows_its_expiry_its_renewal_and_the_ways_to_a_new_one() {
        let validity = CertificateValidity {
            issued_at: AT.plus_millis(-2 * DAY),
            expires_at: AT.plus_millis(28 * DAY),
            revoked_at: None,
        };
        let page = render_credentials(Some(validity), ClusterKind::Agent);
        for part in ["Valid", "in 28 d", "in 18 d", "beef", "Revoke…", "dialog=revoke", "Generate manifests"]
        {
            assert!(page.contains(part), "{part}: {page}");
        }
        let revoked = CertificateValidity { revoked_at: Some(AT.plus_millis(-DAY)), ..validity };
        let page = render_credentials(Some(revoked), ClusterKind::Agent);
        assert!(page.contains("Revoked") && page.contains("accept the agent"), "{page}");
        assert!(!page.contains("Revoke…"), "nothing is left to revoke: {page}");
        assert!(!page.contains("Renewal"), "{page}");
    }

    #[test]
    fn credentials_that_are_not_known_are_not_valid() {
        let unknown = render_credentials(None, ClusterKind::Agent);
        assert!(unknown.contains("Unknown: no certificate"), "{unknown}");
        assert!(!unknown.contains("Valid"), "{unknown}");
        let simulated = render_credentials(None, ClusterKind::Simulated);
        assert!(simulated.contains("no certificate") && !simulated.contains("Revoke…"), "{simulated}");
    }

    #[test]
    fn the_stages_of_a_join_have_times_and_a_join_that_is_not_recorded_is_unknown() {
        let stage = OnboardingStage {
            name: OnboardingStageName::Accepted,
            state: OnboardingState::Done,
            since: Some(AT.plus_millis(-3 * DAY)),
            message: "by ana".to_owned(),
            hint: String::new(),
        };
        let page = render_html(move || view! { <JoinStages stages=vec![stage] at=AT /> });
        for part in ["Key compared and accepted", "by ana", "3 d ago"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let page = render_html(|| view! { <JoinStages stages=Vec::new() at=AT /> });
        assert!(page.contains("Unknown: its registration"), "{page}");
    }
}
