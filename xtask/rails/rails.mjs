// Runs the WASM build of the guard rails in Node. `cargo xtask test` compares its findings with those of the native
// build; `cargo xtask bench guard` measures its run time.
//
//   node rails.mjs check GLUE SCHEMA OUT FOLDER…     checks every manifest below the folders, alone and with the other
//                                                    files of its folder; writes [{name, files, findings}] to OUT
//   node rails.mjs measure GLUE SCHEMA OBJECTS RUNS   prints medians

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

const [task, glue, schema, ...rest] = process.argv.slice(2);
const { GuardRails } = createRequire(import.meta.url)(glue);
const schemaText = readFileSync(schema, "utf8");

/** One case for each manifest, and one for each folder with several manifests. */
function cases(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  const files = entries
    .filter((entry) => entry.isFile() && /\.(ya?ml|json)$/.test(entry.name))
    .map((entry) => ({ name: entry.name, text: readFileSync(join(folder, entry.name), "utf8") }));
  const alone = files.map((file) => ({ name: join(folder, file.name), files: [file] }));
  const together = files.length > 1 ? [{ name: folder, files }] : [];
  const nested = entries.filter((entry) => entry.isDirectory()).flatMap((entry) => cases(join(folder, entry.name)));
  return [...alone, ...together, ...nested];
}

function check([out, ...folders]) {
  const rails = new GuardRails(schemaText);
  const results = folders.flatMap(cases).map((item) => ({ ...item, findings: rails.check(JSON.stringify(item.files)) }));
  writeFileSync(out, JSON.stringify(results));
  console.log(`${results.length} cases`);
}

/** Half Deployments, half Services for them, like the objects of the native benchmark. */
function manifests(objects) {
  const manifest = (n) => `apiVersion: apps/v1
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
  return Array.from({ length: Math.ceil(objects / 2) }, (_, n) => manifest(n)).join("---\n");
}

function measure([objects, runs]) {
  const files = JSON.stringify([{ name: "app.yaml", text: manifests(Number(objects)) }]);
  const median = (work) => {
    const times = Array.from({ length: Number(runs) }, () => {
      const start = performance.now();
      work();
      return performance.now() - start;
    });
    return times.sort((a, b) => a - b)[times.length >> 1].toFixed(1);
  };
  const rails = new GuardRails(schemaText);
  const withoutSchema = new GuardRails('{"minor":0,"kinds":{},"shared":[]}');
  console.log(`guard rails in WASM, ${objects} objects`);
  console.log(`  parse the schema, once          ${median(() => new GuardRails(schemaText).free())} ms`);
  console.log(`  manifests and rules             ${median(() => withoutSchema.check(files))} ms`);
  console.log(`  manifests, rules and schema     ${median(() => rails.check(files))} ms`);
}

({ check, measure })[task](rest);
