// A real agent joins a real cluster by the command of the page, with the rights that the command grants and no others.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startAgent } from "./agent.js";
import { ControlPlanes } from "./control-planes.js";
import { accessible, accessibleAtEverySize, chooseAction, expect, open, row, signUp, test } from "./kit.js";
import { readManifests } from "./manifests.js";
import { Server } from "./server.js";

test("s0_16 an agent registers, its key is compared and accepted on the page, and the cluster comes online", async ({ browser }) => {
  const planes = await ControlPlanes.start(1);
  const server = await Server.startForAgents("join-agent");
  const folder = join(process.env.FLOTILLA_DATA!, "join-agent-cluster");
  mkdirSync(folder, { recursive: true });
  const context = await browser.newContext({ baseURL: server.address, storageState: { cookies: [], origins: [] } });
  let stopAgent = async (): Promise<void> => undefined;
  try {
    const page = await context.newPage();
    await signUp(page, server);
    await open(page, "/");
    const setup = page.getByRole("region", { name: "Set up in four steps" });
    await expect(setup.getByRole("listitem").nth(1)).toContainText("Next");
    await accessibleAtEverySize(page, "the steps of a new server");
    await open(page, "/join");
    await page.getByLabel("Cluster name").fill("edge-1");
    await page.getByLabel("Namespaces", { exact: true }).fill("shop");
    await page.getByRole("button", { name: "Create the command" }).click();
    const current = page.getByRole("list", { name: "Stages" }).locator("[aria-current=step]");
    await expect(current).toContainText("Agent registered");

    const manifests = readManifests((await page.locator(".copy code").first().textContent()) ?? "");
    planes.apply(0, manifests);
    const kubeconfig = planes.writeServiceAccountKubeconfig(0, "flotilla-agent", "flotilla-agent", join(folder, "kubeconfig"));
    stopAgent = startAgent(folder, manifests, kubeconfig);

    // No reload: the page shows each stage by itself.
    await expect(current).toContainText("Key compared and accepted");
    const decision = page.getByRole("region", { name: "Compare the key" });
    await expect(decision).toContainText("v1.36.3");
    // Nothing is rejected before a question, which can be cancelled.
    await decision.getByRole("link", { name: "Reject… edge-1" }).click();
    const question = page.getByRole("dialog", { name: "Reject the agent that waits to join as edge-1?" });
    await expect(question).toContainText("can't be undone");
    await question.getByRole("link", { name: "Cancel" }).click();
    await expect(question).toHaveCount(0);
    await decision.getByRole("button", { name: "Accept edge-1" }).click();
    await expect(page.getByRole("link", { name: "Open edge-1" })).toBeVisible();
    await expect(current).toHaveCount(0);
    await open(page, "/clusters");
    await expect(row(page, "edge-1")).toContainText("Online");
    await open(page, "/");
    await expect(setup.getByRole("listitem").nth(1)).toContainText("Done");
    await expect(setup.getByRole("listitem").nth(3)).toContainText("Next");

    // The page of the cluster shows how it joined, and the certificate.
    await open(page, "/clusters/edge-1");
    const joined = page.getByRole("region", { name: "How it joined" });
    await expect(joined.getByRole("listitem").filter({ hasText: "Key compared and accepted" })).toContainText("by owner");
    await expect(joined.getByRole("listitem").filter({ hasText: "Certificate issued" })).toContainText("ago");
    const credentials = page.getByRole("region", { name: "Credentials" });
    await expect(credentials).toContainText("Valid");
    await expect(credentials).toContainText(/in \d+ (d|h)/);
    await credentials.getByRole("link", { name: "How to rotate" }).click();
    await expect(page).toHaveURL(/\/clusters\/edge-1\?tab=access$/);
    await expect(credentials).toContainText("generate new manifests for this name");
    await expect(page.getByRole("region", { name: "What its agent may write" })).toContainText(/\d+ kinds/);
    await accessible(page, "the access to a cluster with an agent");

    // Its certificates are revoked only after a question, which leads to the state of the certificate.
    await chooseAction(page, "Revoke certificates…");
    const revocation = page.getByRole("dialog", { name: "Revoke the certificates of edge-1?" });
    await expect(revocation).toContainText("Its agent is disconnected at once and can't connect again.");
    await expect(revocation).toContainText("No workload has a release there.");
    await accessible(page, "the question before a revocation");
    await revocation.getByRole("button", { name: "Revoke" }).click();
    await expect(page).toHaveURL(/\/clusters\/edge-1\?tab=access$/);
    await expect(revocation).toHaveCount(0);
    await expect(credentials).toContainText("Revoked");
    await expect(credentials).toContainText("Generate new manifests, apply them, and accept the agent.");
    await expect(joined).toContainText("the certificates of the cluster were revoked");
    await accessible(page, "a cluster whose certificates are revoked");
  } finally {
    await stopAgent();
    await context.close();
    await server.stop();
    await planes.stop();
  }
});
