//! Templates by example: what is allowed, where a fault is, what is escaped, and what is charged.

use domain::Timestamp;
use domain::notification::{IncidentMessage, MessageKind, sample_content, sample_message};

use super::*;

fn sample() -> IncidentMessage {
    sample_message(MessageKind::Opened, Timestamp::from_millis(1_000_000))
}

fn content(message: &IncidentMessage) -> MessageContent {
    MessageContent::Incident(Box::new(message.clone()))
}

fn render_template(
    kind: ChannelKind,
    text: &str,
    message: &IncidentMessage,
    link: &str,
) -> Result<String, TemplateFault> {
    super::render_template(kind, text, &content(message), link)
}

fn render(kind: ChannelKind, text: &str) -> Result<String, TemplateFault> {
    render_template(kind, text, &sample(), "https://f.test/incidents/1")
}

/// The line and the message of the only finding.
fn refuse(text: &str) -> (u32, String) {
    let findings = check_template(ChannelKind::Webhook, text, &[content(&sample())]);
    assert_eq!(findings.len(), 1, "{text}: {findings:?}");
    let line = findings[0].location.as_ref().unwrap().line;
    assert!(findings[0].message.starts_with(&format!("Line {line} of the template: ")), "{findings:?}");
    assert_eq!(findings[0].path, "/template");
    (line, findings[0].message.clone())
}

#[test]
fn variables_conditions_and_a_loop_over_clusters_are_rendered() {
    let text = "{# for people #}{{ workload | upper }}: {{ reason }}\n\
        {% if acknowledged_by %}by {{ acknowledged_by }}{% elif event == \"opened\" and not closed_at %}new{% else %}old{% endif %}\n\
        {% for cluster in clusters -%}\n{{ loop.index }}. {{ cluster }}{% if not loop.last %}, {% endif %}{% endfor %}\n\
        {{ clusters | length }} { not a tag }";
    let rendered = render(ChannelKind::Webhook, text).unwrap();
    assert_eq!(
        rendered,
        "SHOP-WEB: ImagePullFailed\nnew\n1. eu-west-1, 2. eu-west-2, 3. us-east-1\n3 { not a tag }"
    );
    assert!(check_template(ChannelKind::Webhook, text, &[content(&sample())]).is_empty());
}

#[test]
fn every_variable_has_a_value_in_every_message() {
    let all: String = TEMPLATE_TEXTS.into_iter().map(|name| format!("{name}={{{{ {name} }}}}\n")).collect();
    let lists: String = TEMPLATE_LISTS
        .into_iter()
        .map(|name| format!("{{% for one in {name} %}}{{{{ one }}}}{{% endfor %}}"))
        .collect();
    for kind in [MessageKind::Opened, MessageKind::Updated, MessageKind::Closed, MessageKind::Test] {
        let message = sample_message(kind, Timestamp::from_millis(1_000_000));
        let text = format!("{all}{lists}");
        let rendered = render_template(ChannelKind::Webhook, &text, &message, "").unwrap();
        assert!(rendered.contains(&format!("event={}\n", kind.as_str())), "{rendered}");
        assert!(rendered.ends_with("team-shop"), "{rendered}");
    }
    let publish = sample_content(MessageKind::PublishEnded, Timestamp::from_millis(1_000_000));
    let rendered =
        super::render_template(ChannelKind::Slack, &format!("{all}{lists}"), &publish, "").unwrap();
    for part in
        ["event=publishEnded\n", "kind=publish\n", "reason=failed\n", "&lt;not found&gt;", "eu-west-1ana"]
    {
        assert!(rendered.contains(part), "{part}: {rendered}");
    }
}

#[test]
fn an_invalid_template_is_refused_with_its_line_and_the_cause() {
    for (text, line, cause) in [
        ("a\n{{ clusterz }}", 2, "There is no variable clusterz"),
        ("{{ workload", 1, "is not closed"),
        ("\n\n{% if workload %}x", 3, "has no {% endif %}"),
        ("{% endfor %}", 1, "endfor belongs to no open block"),
        ("{% if workload %}{% endfor %}", 1, "endfor belongs to no open block"),
        ("{% for c in workload %}{% endfor %}", 1, "workload is no list"),
        ("{% for title in clusters %}{% endfor %}", 1, "choose another name"),
        ("{{ c }}{% for c in clusters %}{% endfor %}", 1, "There is no variable c"),
        ("{{ workload | replace }}", 1, "There is no filter replace"),
        ("{{ workload.name }}", 1, "has no fields"),
        ("{{ loop.index }}", 1, "There is no variable loop"),
        ("{% for c in owners %}{{ loop.cycle }}{% endfor %}", 1, "loop has no cycle"),
        ("{% if workload == reason %}{% endif %}", 1, "compared with a text"),
        ("{% if \"a\" %}{% endif %}", 1, "name of a variable is missing"),
    ] {
        let (found, message) = refuse(text);
        assert_eq!(found, line, "{text}: {message}");
        assert!(message.contains(cause), "{text}: {message}");
    }
    assert!(refuse(&"a".repeat(MAX_TEMPLATE_BYTES + 1)).1.contains("more than 8192"));
}

#[test]
fn p19_a_template_is_not_nested_deeper_than_the_evaluator_reads_with_its_stack() {
    let (if_pod, end) = ("{% if pod %}", "{% endif %}");
    let templates = |n: usize| {
        [
            format!("{{{{ pod{} }}}}", " | trim".repeat(n)),
            format!("{{% if pod{} %}}{end}", " and pod".repeat(n - 1)),
            format!("{}{}", if_pod.repeat(n), end.repeat(n)),
            format!("{if_pod}{}{end}", "{% elif pod %}".repeat(n)),
        ]
    };
    for (deepest, deeper) in templates(32).iter().zip(templates(33)) {
        assert!(check_template(ChannelKind::Webhook, deepest, &[content(&sample())]).is_empty(), "{deepest}");
        assert!(refuse(&deeper).1.contains("There are more than 32 "), "{deeper}");
    }
}

#[test]
fn p19_a_template_makes_no_value_of_others_and_reads_nothing_else() {
    for text in [
        "{% set a = cause ~ cause %}{% set a = a ~ a %}{{ a }}",
        "{{ cause ~ cause }}",
        "{{ \"xxxxxxxx\" * 1000000000 }}",
        "{{ [cause, cause] }}",
        "{{ range(1000000000) }}",
        "{% for a in clusters %}{% for b in clusters %}{{ cause }}{% endfor %}{% endfor %}",
        "{% for a in clusters %}{% if a %}{% for b in owners %}{% endfor %}{% endif %}{% endfor %}",
        "{% macro a() %}{{ a() }}{% endmacro %}",
        "{% include \"/etc/passwd\" %}",
        "{% import \"a\" as b %}",
        "{% block a %}{% endblock %}",
        "{% raw %}{{ cause }}{% endraw %}",
        "{{ cause.__class__ }}",
        "{{ cause[0] }}",
        "{{ cause | default(value=cause) }}",
        "{% filter upper %}{{ cause }}{% endfilter %}",
        "{% with a = cause %}{{ a }}{% endwith %}",
        "{{ cause if workload else reason }}",
        "{% autoescape false %}{% endautoescape %}",
        "{% if workload == \"%}{{ cause ~ cause }}\" %}{% endif %}",
    ] {
        refuse(text);
        assert!(render(ChannelKind::Webhook, text).is_err(), "also one that is stored: {text}");
    }
}

#[test]
fn p19_an_evaluation_is_charged_for_its_steps_and_for_the_text_that_it_makes() {
    let mut message = sample();
    message.incident.clusters = (0..1_000).map(|n| format!("cluster-{n}")).collect();
    let many = format!("{{% for c in clusters %}}{}{{% endfor %}}", "{{ c }}".repeat(500));
    let steps = render_template(ChannelKind::Webhook, &many, &message, "").unwrap_err();
    assert!(steps.message.contains("more than 10000 steps"), "{steps:?}");
    message.incident.cause = "x".repeat(100_000);
    let long = "{% for c in clusters %}{{ cause }}{% endfor %}";
    let bytes = render_template(ChannelKind::Webhook, long, &message, "").unwrap_err();
    assert!(bytes.message.contains("more than 10000 steps"), "{bytes:?}");
    let once = render_template(ChannelKind::Webhook, "{{ cause }}", &message, "").unwrap_err();
    assert!(once.message.contains("more than 16384"), "{once:?}");
    message.incident.cause = "x".repeat(100);
    assert!(
        render_template(ChannelKind::Webhook, long, &message, "").unwrap().len() < MAX_TEMPLATE_TEXT_BYTES
    );
}

#[test]
fn values_are_escaped_for_the_receiver_and_the_text_of_the_template_is_not() {
    let text = "<{{ link }}|open> {{ cause }}";
    let slack = render(ChannelKind::Slack, text).unwrap();
    assert!(slack.starts_with("<https://f.test/incidents/1|open> "), "{slack}");
    assert!(slack.contains("&lt;not found&gt;") && !slack.contains("<not found>"), "{slack}");
    let plain = render(ChannelKind::Webhook, text).unwrap();
    assert!(plain.contains("\"registry.example.com/web:9\" <not found>"), "{plain}");
}
