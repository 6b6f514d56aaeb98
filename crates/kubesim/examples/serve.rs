//! Serves one simulated cluster and prints its kubeconfig: `cargo run -p kubesim --example serve -- 127.0.0.1:8001`.

use kubesim::{SimCluster, SimOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into()).parse()?;
    let cluster = SimCluster::new(SimOptions::default());
    let server = cluster.serve(addr).await?;
    #[expect(clippy::print_stdout, reason = "the kubeconfig is this program's output")]
    {
        println!("{}", cluster.kubeconfig(&server.url()));
    }
    tokio::signal::ctrl_c().await?;
    Ok(())
}
