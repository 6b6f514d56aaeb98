//! The simulated registry: which tags of well-known images exist.
//!
//! A demo that runs every image teaches the wrong thing: a mistyped tag has to fail as it does on a real cluster. Every other image
//! exists with every tag, because manifests name registries that the simulator can't ask.

/// Well-known images of Docker Hub and their newest major version. Tags are the name of a channel or a version up to it.
const IMAGES: [(&str, u32); 24] = [
    ("alpine", 3),
    ("busybox", 1),
    ("caddy", 2),
    ("debian", 13),
    ("golang", 1),
    ("grafana/grafana", 13),
    ("haproxy", 3),
    ("hello-world", 0),
    ("httpd", 2),
    ("mariadb", 12),
    ("memcached", 1),
    ("mongo", 8),
    ("mysql", 9),
    ("nginx", 1),
    ("node", 25),
    ("php", 8),
    ("postgres", 18),
    ("python", 3),
    ("rabbitmq", 4),
    ("redis", 8),
    ("traefik", 3),
    ("ubuntu", 26),
    ("valkey/valkey", 9),
    ("whoami", 1),
];
/// Words at the begin of tags without a version.
const CHANNELS: [&str; 22] = [
    "alpine",
    "apache",
    "bookworm",
    "bullseye",
    "edge",
    "fpm",
    "glibc",
    "jammy",
    "latest",
    "lts",
    "mainline",
    "management",
    "musl",
    "noble",
    "otel",
    "perl",
    "rolling",
    "slim",
    "stable",
    "trixie",
    "uclibc",
    "linux",
];
/// Whether the simulated registries have this image.
pub(super) fn has_image(image: &str) -> bool {
    // A digest can't be judged.
    let Some((name, tag)) =
        image.rsplit_once(':').filter(|(name, tag)| !name.contains('@') && !tag.contains('/'))
    else {
        return true;
    };
    let name = ["docker.io/library/", "docker.io/", "library/"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    let Some((_, newest)) = IMAGES.iter().find(|(known, _)| *known == name) else { return true };
    let first = tag.split(['.', '-', '_']).next().unwrap_or_default();
    match first.trim_start_matches('v').parse::<u32>() {
        Ok(major) => major <= *newest,
        Err(_) => CHANNELS.iter().any(|channel| first.starts_with(channel)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_can_t_exist_are_missing() {
        for image in [
            "nginx",
            "nginx:1.29",
            "nginx:1.27-alpine",
            "nginx:latest",
            "nginx:stable-perl",
            "docker.io/library/redis:8.2",
            "busybox:1.36",
            "postgres:17-bookworm",
            "registry.example.com/shop:whatever",
            "localhost:5000/shop",
            "redis:7.4.1",
            "nginx@sha256:0123",
            "grafana/grafana:12.1.0",
            "ghcr.io/acme/web:v2",
        ] {
            assert!(has_image(image), "{image}");
        }
        for image in ["nginx:9.9", "nginx:nope", "docker.io/nginx:lastest", "redis:99", "postgres:1700"] {
            assert!(!has_image(image), "{image}");
        }
    }
}
