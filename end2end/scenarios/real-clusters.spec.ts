// A chart on three real control planes: values that differ, an upgrade while one is down, a rollback, a cluster that leaves the
// group, a deletion by force, and the cleanup of the cluster that returns (S1-5, S1-8, S1-10, S1-18, S1-23).

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ControlPlanes } from "./control-planes.js";
import { accessible, expect, notListed, open, packChart, publish, row, SAVED, signUp, step, test, toStep } from "./kit.js";
import { Server } from "./server.js";

const NAMES = ["eu-1", "eu-2", "eu-3"];

const chart = (version: string): { name: string; mimeType: string; buffer: Buffer } => ({
  name: `beacon-${version}.tgz`,
  mimeType: "application/gzip",
  buffer: packChart("beacon", {
    "Chart.yaml": `apiVersion: v2\nname: beacon\nversion: ${version}\ndescription: Shows a message\n`,
    "values.yaml": "replicas: 1\nmessage: none # what it shows\n",
    "templates/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: beacon}
data: {message: {{ .Values.message | quote }}, chart: {{ .Chart.Version | quote }}}
`,
    "templates/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: beacon}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: beacon}}
  template:
    metadata: {labels: {app: beacon}}
    spec:
      containers:
        - name: web
          image: docker.io/library/nginx:1.29.3
          resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 32Mi}}
`,
  }),
});

test("s1_5 s1_8 s1_23 a chart on three real clusters is upgraded while one is down, rolled back, removed from one, and deleted by force", async ({ browser }) => {
  const planes = await ControlPlanes.start(3);
  const folder = join(process.env.FLOTILLA_DATA!, "real-clusters");
  mkdirSync(folder, { recursive: true });
  const server = await Server.startWith("real-clusters", planes.writeKubeconfig(folder, NAMES));
  const context = await browser.newContext({ baseURL: server.address, storageState: undefined });
  const shown = (number: number): string => {
    const data = planes.configMap(number, "beacon", "beacon");
    return data === undefined ? "nothing" : `${data.chart} ${data.message}`;
  };
  try {
    const page = await context.newPage();
    await signUp(page, server);
    await open(page, "/clusters");
    for (const name of NAMES) await expect(row(page, name)).toContainText("Online");

    await open(page, "/new-group");
    await page.getByLabel("Name", { exact: true }).fill("europe");
    for (const name of NAMES) await page.getByRole("checkbox", { name: `Member by name: ${name}` }).check();
    await page.getByRole("button", { name: "Create group" }).click();
    await expect(page).toHaveURL(/\/groups\/europe$/);
    await open(page, "/charts");
    for (const version of ["1.0.0", "1.1.0"]) {
      await page.locator("input[type=file]").setInputFiles(chart(version));
      await expect(page.getByText(`local/beacon ${version} uploaded.`)).toBeVisible();
    }

    // What Helm installed is continued with its chart and its values.
    const packed = join(folder, "beacon-1.0.0.tgz");
    writeFileSync(packed, chart("1.0.0").buffer);
    planes.installChart(0, "legacy", "signal", packed, "message=installed");
    await open(page, "/clusters/eu-1?tab=workloads");
    const releases = page.getByRole("region", { name: "Helm releases" });
    await expect(row(releases, "signal")).toContainText("deployed");
    await releases.getByRole("link", { name: "Adopt signal…" }).click();
    const adoption = page.getByRole("dialog");
    await expect(adoption).toContainText("Revision 1, deployed, from chart beacon 1.0.0 in namespace legacy.");
    await adoption.getByText("Values", { exact: true }).click();
    await expect(adoption).toContainText("message: installed");
    await accessible(page, "the adoption of a release");
    await adoption.getByRole("button", { name: "Create draft" }).click();
    await expect(page).toHaveURL(/\/workloads\/signal\/publish$/);
    await publish(page, "signal");
    await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();

    // Described once, with another value on one cluster.
    await open(page, "/workloads/new");
    await page.getByLabel("Workload name").fill("beacon");
    await page.getByLabel("Namespace").fill("beacon");
    await page.getByRole("radio", { name: "Helm chart" }).check();
    await page.getByRole("button", { name: "Continue to Source" }).click();
    await page.getByLabel("Chart", { exact: true }).fill("local/beacon");
    await page.getByLabel("Version", { exact: true }).fill("1.0.0");
    await page.locator(".cm-content").fill("message: common # for all");
    await expect(page.getByText(SAVED)).toBeVisible();
    await toStep(page, "Placement");
    await step(page, "Placement");
    await page.getByText("Group", { exact: true }).click();
    await page.getByRole("checkbox", { name: /europe/ }).check();
    await toStep(page, "Overrides");
    await step(page, "Overrides");
    await page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: "eu-2" }).click();
    await page.getByLabel("Chart values as YAML").fill("message: special");
    await expect(page.getByRole("row", { name: /message/ })).toContainText("cluster eu-2");
    await toStep(page, "Rollout");
    await step(page, "Rollout");
    await open(page, "/workloads/beacon/publish");
    await publish(page, "beacon");
    await expect(page.getByText("3 of 3 clusters healthy with r1")).toBeVisible();
    expect([0, 1, 2].map(shown)).toEqual(["1.0.0 common", "1.0.0 special", "1.0.0 common"]);
    await accessible(page, "a workload on real clusters");

    // One cluster is down: the others are upgraded, and it follows when it returns.
    await planes.stopServer(2);
    await open(page, "/clusters");
    await expect(row(page, "eu-3")).not.toContainText("Online");
    await open(page, "/workloads/beacon/edit/source");
    await page.getByLabel("Version", { exact: true }).fill("1.1.0");
    await expect(page.getByText(SAVED)).toBeVisible();
    await open(page, "/workloads/beacon/publish");
    await publish(page, "beacon");
    await expect(page.getByText("2 of 3 clusters healthy with r2")).toBeVisible();
    expect([0, 1].map(shown)).toEqual(["1.1.0 common", "1.1.0 special"]);
    await accessible(page, "a workload with an unreachable cluster");
    await planes.startServer(2);
    await expect(page.getByText("3 of 3 clusters healthy with r2")).toBeVisible();
    expect(shown(2)).toBe("1.1.0 common");

    // Rolled back.
    await open(page, "/workloads/beacon?tab=history");
    await page.getByRole("link", { name: "Roll back to r1" }).click();
    await publish(page, "beacon");
    await expect(page.getByText("3 of 3 clusters healthy with r3")).toBeVisible();
    expect([0, 1, 2].map(shown)).toEqual(["1.0.0 common", "1.0.0 special", "1.0.0 common"]);

    // A cluster leaves the group: a publish removes the workload from it without the notice.
    await open(page, "/groups/europe");
    await page.getByRole("checkbox", { name: "Member by name: eu-2" }).uncheck();
    await page.getByLabel("Let 1 workload leave these clusters").check();
    await page.getByRole("button", { name: "Save members" }).click();
    await expect(page.getByText("2 clusters by name")).toBeVisible();
    await open(page, "/workloads/beacon");
    await expect(page.getByText(/The placement no longer selects these clusters/)).toBeVisible();
    await open(page, "/workloads/beacon/publish");
    await publish(page, "beacon");
    await expect(page.getByText("2 of 2 clusters healthy with r4")).toBeVisible();
    await expect.poll(() => shown(1)).toBe("nothing");

    // Deleted by force while a cluster is gone; it is cleaned up when it returns.
    await planes.stopServer(2);
    await open(page, "/workloads/beacon");
    await expect(row(page, "eu-3")).not.toContainText("Online");
    await open(page, "/workloads/beacon?dialog=delete");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/^Abandon 1 cluster/).check();
    await dialog.getByLabel(/^Type /).fill("beacon");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/workloads$/);
    await expect.poll(() => shown(0)).toBe("nothing");
    await open(page, "/workloads");
    await notListed(page, "beacon");
    await planes.startServer(2);
    await open(page, "/events");
    await expect(page.getByRole("main").getByRole("listitem").filter({ hasText: /beacon was cleaned up on eu-3/ }).first()).toBeVisible();
    await expect.poll(() => shown(2)).toBe("nothing");
  } finally {
    await context.close();
    await server.stop();
    await planes.stop();
  }
});
