//! Charts with packed subcharts, and texts that only `tpl` evaluates.

use super::*;

const CAPABILITIES: &str = "{{ .Capabilities.APIVersions.Has \"example.com/v1\" }}";

fn binary<'a>(name: &'a str, body: &'a [u8]) -> Entry<'a> {
    Entry { body, ..file(name, "") }
}

/// A packed library chart with these files beside Chart.yaml.
fn kit(files: &[(&str, &[u8])]) -> Vec<u8> {
    let chart = "apiVersion: v2\nname: kit\nversion: 0.1.0\ntype: library\n";
    let names: Vec<String> = files.iter().map(|(path, _)| format!("kit-folder/{path}")).collect();
    let files = names.iter().zip(files).map(|(name, (_, bytes))| binary(name, bytes));
    let entries: Vec<Entry<'_>> = [file("kit-folder/Chart.yaml", chart)].into_iter().chain(files).collect();
    pack(&entries)
}

/// The chart with these files beside Chart.yaml.
fn read(files: &[(&str, &[u8])]) -> Result<ChartArchive, ArchiveRejected> {
    let names: Vec<String> = files.iter().map(|(path, _)| format!("web/{path}")).collect();
    let files = names.iter().zip(files).map(|(name, (_, bytes))| binary(name, bytes));
    let entries: Vec<Entry<'_>> = [file("web/Chart.yaml", CHART)].into_iter().chain(files).collect();
    ChartArchive::read(&pack(&entries))
}

fn read_with(path: &str, subchart: &[u8]) -> ChartArchive {
    read(&[(path, subchart)]).unwrap()
}

fn rejected_with(path: &str, subchart: &[u8]) -> ArchiveRejected {
    read(&[(path, subchart)]).unwrap_err()
}

/// What is searched for: capabilities, the phase, random functions, references of schemas, and the revision.
fn found(chart: &ChartArchive) -> (bool, bool, bool, Vec<String>, Vec<String>) {
    (
        chart.contains_text("Capabilities"),
        chart.contains_text("IsUpgrade"),
        chart.may_be_random("{}"),
        chart.remote_schema_refs(),
        chart.files_with_text("Release.Revision"),
    )
}

#[test]
fn a_packed_subchart_is_searched_as_if_it_were_a_folder() {
    let template = format!(
        "{{{{ define \"kit.has\" }}}}{CAPABILITIES}{{{{ .Release.IsUpgrade }}}}{{{{ randAlphaNum 8 }}}}{{{{ end }}}}"
    );
    let schema = br#"{"$ref": "https://example.com/kit.json"}"#;
    let files: [(&str, &[u8]); 3] = [
        ("templates/_kit.tpl", template.as_bytes()),
        ("templates/a.yaml", b"a: {{ .Release.Revision }}"),
        ("values.schema.json", schema),
    ];
    let packed = read_with("charts/kit-0.1.0.tgz", &kit(&files));
    let in_folder = files.map(|(path, bytes)| (format!("charts/kit/{path}"), bytes));
    let folder = read(&in_folder.each_ref().map(|(path, bytes)| (path.as_str(), *bytes))).unwrap();
    let refs = vec!["https://example.com/kit.json".to_owned()];
    let revision = |folder: &str| vec![format!("charts/{folder}/templates/a.yaml")];
    assert_eq!(found(&packed), (true, true, true, refs.clone(), revision("kit-0.1.0.tgz")));
    assert_eq!(found(&folder), (true, true, true, refs, revision("kit")));
    assert!(packed.subchart_names().any(|name| name == "kit"), "by the name in its Chart.yaml");
    let plain = read_with("charts/kit-0.1.0.tgz", &kit(&[("templates/a.yaml", b"a: {{ .Values.a }}")]));
    assert_eq!(found(&plain), (false, false, false, Vec::new(), Vec::new()));
}

#[test]
fn a_chart_with_packed_subcharts_is_packed_as_it_was() {
    let subchart = kit(&[("templates/a.yaml", CAPABILITIES.as_bytes())]);
    let chart = read_with("charts/kit.tgz", &subchart);
    let again = ChartArchive::read(&chart.pack().unwrap()).unwrap();
    assert_eq!(again, chart);
    assert_eq!(again.files.keys().collect::<Vec<_>>(), ["Chart.yaml", "charts/kit.tgz"]);
    assert_eq!(again.files["charts/kit.tgz"], subchart);
    assert_eq!(ChartArchive::from_files(chart.files.clone()).unwrap(), chart);
}

#[test]
fn subcharts_are_searched_in_subcharts_packed_or_not() {
    let inner = kit(&[("templates/a.yaml", CAPABILITIES.as_bytes())]);
    let outer = kit(&[("charts/inner.tgz", &inner)]);
    let nested = read_with("charts/outer.tgz", &outer);
    assert_eq!(
        nested.files_with_text("Capabilities"),
        ["charts/outer.tgz/charts/inner.tgz/templates/a.yaml"]
    );
    assert!(read_with("charts/outer/charts/inner.tgz", &inner).contains_text("Capabilities"));
}

#[test]
fn at_most_eight_archives_one_in_the_other_are_read() {
    // The chart itself is the first of them.
    let pack_times = |times: usize| {
        (1..times).fold(kit(&[("templates/a.yaml", CAPABILITIES.as_bytes())]), |inner, _| {
            kit(&[("charts/kit.tgz", &inner)])
        })
    };
    assert!(read_with("charts/kit.tgz", &pack_times(7)).contains_text("Capabilities"));
    let path = ["charts/kit.tgz"; 8].join("/");
    let rejected = rejected_with("charts/kit.tgz", &pack_times(8));
    let expected = reject(&path, "is one more than the 8 archives, one in the other, that are allowed");
    assert_eq!((rejected.entry, rejected.reason), (expected.entry, expected.reason));
}

#[test]
fn only_what_helm_unpacks_is_read_as_a_subchart() {
    let subchart = kit(&[("templates/a.yaml", CAPABILITIES.as_bytes())]);
    for path in [
        "charts/_kit.tgz",
        "charts/.kit.tgz",
        "charts/_off/charts/kit.tgz",
        "charts/kit.tgz.prov",
        "charts/kit.tar.gz",
        "charts/sub/kit.tgz",
        "files/kit.tgz",
        "kit.tgz",
    ] {
        assert!(!read_with(path, &subchart).contains_text("Capabilities"), "{path}");
        assert!(read(&[(path, b"no archive")]).is_ok(), "{path}");
    }
}

#[test]
fn a_packed_subchart_that_can_not_be_read_is_rejected_with_its_name() {
    let rejected = rejected_with("charts/kit.tgz", b"version https://git-lfs.github.com/spec/v1\n");
    assert_eq!(
        rejected.to_string(),
        "The archive is rejected: its entry \"charts/kit.tgz\" is no readable .tgz file: invalid gzip header."
    );
    assert_eq!(
        rejected.hint,
        "Pack the subchart again with `helm package`, or get it again with `helm dependency update`."
    );
    let whole = kit(&[("a", b"")]);
    let cut = rejected_with("charts/kit.tgz", &whole[..whole.len() / 2]).to_string();
    assert!(
        cut.starts_with("The archive is rejected: its entry \"charts/kit.tgz\" is no readable .tgz"),
        "{cut}"
    );
    assert_eq!(
        rejected_with("charts/kit.tgz", &pack(&[file("kit/values.yaml", "")])).to_string(),
        "The archive is rejected: its entry \"charts/kit.tgz\" has no Chart.yaml."
    );
}

#[test]
fn an_entry_of_a_packed_subchart_that_is_not_allowed_is_rejected_with_its_path() {
    let link = Entry { kind: EntryType::Symlink, link: "/etc/passwd", ..file("kit/a", "") };
    let subchart = pack(&[file("kit/Chart.yaml", CHART), link]);
    let nested = kit(&[("charts/in.tgz", &subchart)]);
    assert_eq!(
        rejected_with("charts/kit.tgz", &nested).to_string(),
        "The archive is rejected: its entry \"charts/kit.tgz/charts/in.tgz/kit/a\" is a symbolic link, not a plain file."
    );
}

#[test]
fn what_is_packed_in_subcharts_counts_against_the_limits_of_the_chart() {
    let zeros = "0".repeat(1 << 20);
    let subchart = kit(&[("a", zeros.as_bytes())]);
    assert!(read(&[("charts/a.tgz", &subchart)]).is_ok(), "one of them is small");
    let names: Vec<String> = (0..9).map(|n| format!("charts/{n}.tgz")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), subchart.as_slice())).collect();
    let rejected = read(&files).unwrap_err();
    assert!(rejected.entry.ends_with(".tgz/kit-folder/a"), "{rejected}");
    assert!(rejected.reason.starts_with("exceeds the limit of "), "{rejected}");
    let nested = files
        .iter()
        .skip(1)
        .fold(subchart.clone(), |inner, _| kit(&[("charts/in.tgz", &inner), ("a", zeros.as_bytes())]));
    assert!(rejected_with("charts/a.tgz", &nested).reason.starts_with("exceeds the limit of "));
}

#[test]
fn files_in_packed_subcharts_count_against_the_number_of_files() {
    let names: Vec<String> = (0..MAX_FILES / 2).map(|n| format!("{n}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let subchart = kit(&files);
    assert!(read_with("charts/a.tgz", &subchart).files.len() == 2);
    let rejected = read(&[("charts/a.tgz", &subchart), ("charts/b.tgz", &subchart)]).unwrap_err();
    assert!(rejected.entry.starts_with("charts/b.tgz/kit-folder/"), "{rejected}");
    assert_eq!(rejected.reason, "is one more than the 10000 files that are allowed");
}

#[test]
fn headers_without_content_in_packed_subcharts_are_limited_together() {
    // 5 MiB of folders in each.
    let folder = || Entry { kind: EntryType::Directory, ..file("kit/folder/", "") };
    let entries: Vec<Entry<'_>> =
        [file("kit/Chart.yaml", CHART)].into_iter().chain((0..10_000).map(|_| folder())).collect();
    let subchart = pack(&entries);
    assert!(read(&[("charts/0.tgz", &subchart)]).is_ok());
    let names: Vec<String> = (0..20).map(|n| format!("charts/{n:02}.tgz")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), subchart.as_slice())).collect();
    let rejected = read(&files).unwrap_err();
    assert!(rejected.entry.starts_with("charts/") && rejected.entry.ends_with(".tgz"), "{rejected}");
    assert!(rejected.reason.starts_with("exceeds the limit of "), "{rejected}");
}

#[test]
fn every_text_of_a_chart_is_searched_if_a_template_uses_tpl() {
    let text = format!("a: {CAPABILITIES} {{{{ now }}}} {{{{ .Release.IsUpgrade }}}}");
    let chart = |template: &str| {
        read(&[
            ("templates/a.yaml", template.as_bytes()),
            ("files/a.yaml", text.as_bytes()),
            ("files/binary", b"\xff{{ now }}"),
        ])
        .unwrap()
    };
    assert_eq!(
        found(&chart("{{ tpl (.Files.Get \"files/a.yaml\") . }}")),
        (true, true, true, Vec::new(), Vec::new())
    );
    assert_eq!(
        found(&chart("{{ .Files.Get \"files/a.yaml\" }}")),
        (false, false, false, Vec::new(), Vec::new())
    );
    assert_eq!(found(&chart("{{ .Values.tplvalues }} tpl")), (false, false, false, Vec::new(), Vec::new()));
    // The function is in a packed library, and the file in the chart that uses it.
    let library =
        kit(&[("templates/_render.tpl", b"{{ define \"kit.render\" }}{{ tpl .text .root }}{{ end }}")]);
    let by_library = read(&[("charts/kit.tgz", &library), ("files/a.yaml", text.as_bytes())]).unwrap();
    assert_eq!(found(&by_library), (true, true, true, Vec::new(), Vec::new()));
}

#[test]
fn values_of_the_user_are_random_only_if_a_template_uses_tpl() {
    let with_tpl = read(&[("templates/a.yaml", b"{{ tpl (toYaml .Values.extraDeploy) . }}")]).unwrap();
    let without = read(&[("templates/a.yaml", b"{{ toYaml .Values.extraDeploy }}")]).unwrap();
    for (values, expected) in [
        (r#"{"extraDeploy":[{"a":"{{ randAlphaNum 8 }}"}]}"#, true),
        (r#"{"extraDeploy":{"{{ now }}":1}}"#, true),
        (r#"{"extraDeploy":"{{\nnow }}"}"#, true),
        (r#"{"extraDeploy":"now {{ .Release.Name }}"}"#, false),
        ("{}", false),
    ] {
        assert_eq!(
            (with_tpl.may_be_random(values), without.may_be_random(values)),
            (expected, false),
            "{values}"
        );
    }
}
