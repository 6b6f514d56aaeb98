//! Tests against local repositories.

use domain::Digest;
use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};
use testkit::{HttpResponse, HttpServer};

use super::*;

mod http;
mod oci;

/// A packed chart.
fn pack(name: &str, version: &str) -> Vec<u8> {
    let text = format!("apiVersion: v2\nname: {name}\nversion: {version}\ndescription: A chart\n");
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, format!("{name}/Chart.yaml"), text.as_bytes()).unwrap();
    builder.into_inner().unwrap().finish().unwrap()
}

/// As the server of a closed network is configured.
fn client() -> RepositoryClient {
    RepositoryClient::new(RemoteAccess::PrivateHttp).unwrap()
}

const LOGIN: Login<'static> = Login { user_name: "ci", password: "s3cret", token_endpoint: "" };

fn repository(url: &str, login: Option<Login<'_>>) -> Repository {
    Repository::new(RepositoryOptions { url, plain_http: true, login }).unwrap()
}

const fn web(version: &str) -> ChartRequest<'_> {
    ChartRequest { name: "web", version, expected: None }
}

/// Whether each request had credentials.
fn authorized(server: &HttpServer) -> Vec<(String, bool)> {
    let requests = server.requests().into_iter();
    requests.map(|request| (request.path.clone(), request.header("authorization").is_some())).collect()
}
