//! What a workload from the form begins with: a person adds the image and the port.

use domain::workload::SourceFile;

/// A Deployment with one container and sizes. Nothing in it is guessed: the image and the ports are the person's to say.
pub fn deployment(name: &str) -> SourceFile {
    let text = format!(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  labels:
    app: {name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
    spec:
      containers:
        - name: {name}
          image: \"\"
          resources:
            requests:
              cpu: 100m
              memory: 128Mi
            limits:
              memory: 128Mi
"
    );
    SourceFile { name: "deploy.yaml".to_owned(), text }
}
