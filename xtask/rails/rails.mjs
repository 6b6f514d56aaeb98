// The guard rails as the browser runs them, in Node: `cargo xtask test` compares what they say with what the same rules
// say natively, `cargo xtask bench guard` takes their time.
//
//   node rails.mjs say GLUE SCHEMA OUT FOLDER…   checks every manifest below the folders, alone and with its neighbours;
//                                                writes [{name, files, said}]
//   node rails.mjs time GLUE SCHEMA OBJECTS RUNS   prints medians

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

const [task, glue, schema, ...rest] = process.argv.slice(2);
const { Rails } = createRequire(import.meta.url)(glue);
const written = readFileSync(schema, "utf8");

/** One case for every folder with manifests, and one for every manifest in it. */
function cases(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  const files = entries
    .filter((entry) => entry.isFile() && /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => ({ name: entry.name, text: readFileSync(join(folder, entry.name), "utf8") }));
  const alone = files.map((file) => ({ name: join(folder, file.name), files: [file] }));
  const together = files.length > 1 ? [{ name: folder, files }] : [];
  const below = entries.filter((entry) => entry.isDirectory()).flatMap((entry) => cases(join(folder, entry.name)));
  return [...alone, ...together, ...below];
}

function say([out, ...folders]) {
  const rails = new Rails(written);
  const said = folders.flatMap(cases).map((one) => ({ ...one, said: rails.check(JSON.stringify(one.files)) }));
  writeFileSync(out, JSON.stringify(said));
  console.log(`${said.length} cases`);
}

/** Half Deployments, half Services of them: the same shape as the native benchmark's. */
function manifests(objects) {
  const one = (n) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: app-${n}}
spec:
  replicas: 2
  selector: {matchLabels: {app: app-${n}}}
  template:
    metadata: {labels: {app: app-${n}}}
    spec:
      containers:
      - name: app
        image: example.com/app:1.${n}
        ports: [{containerPort: 8080, name: http}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
        readinessProbe: {httpGet: {path: /, port: http}}
---
apiVersion: v1
kind: Service
metadata: {name: app-${n}}
spec: {selector: {app: app-${n}}, ports: [{port: 80, targetPort: http}]}
`;
  return Array.from({ length: Math.ceil(objects / 2) }, (_, n) => one(n)).join("---\n");
}

function time([objects, runs]) {
  const files = JSON.stringify([{ name: "app.yaml", text: manifests(Number(objects)) }]);
  const median = (work) => {
    const times = Array.from({ length: Number(runs) }, () => {
      const begun = performance.now();
      work();
      return performance.now() - begun;
    });
    return times.sort((a, b) => a - b)[times.length >> 1].toFixed(1);
  };
  const rails = new Rails(written);
  const bare = new Rails('{"minor":0,"kinds":{},"shared":[]}');
  console.log(`guard rails in WASM, ${objects} objects`);
  console.log(`  reading the schema, once        ${median(() => new Rails(written).free())} ms`);
  console.log(`  manifests and rules             ${median(() => bare.check(files))} ms`);
  console.log(`  the same with the schema        ${median(() => rails.check(files))} ms`);
}

({ say, time })[task](rest);
