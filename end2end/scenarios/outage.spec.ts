// What the console does in an outage of the database: a real PostgreSQL whose connections are cut.

import { alive, describe, expect, open, paste, row, signUp, step, test } from "./kit.js";
import { Proxy } from "./proxy.js";
import { Server } from "./server.js";

/** A server with a new user, and the proxy in front of its database. */
async function start(): Promise<{ server: Server; proxy: Proxy }> {
  const address = process.env.FLOTILLA_TEST_POSTGRES;
  if (address === undefined) throw new Error("FLOTILLA_TEST_POSTGRES is not set; `cargo xtask e2e` sets it");
  const database = new URL(address);
  const proxy = await Proxy.start(Number(database.port));
  database.port = String(proxy.port);
  return { server: await Server.startOn("outage", database.href), proxy };
}

const configMap = (value: string): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: kept}
data: {value: ${value}}
`;

test("p21 in an outage of the database a banner says what still works, what was typed stays, and it can be saved afterwards", async ({ browser }) => {
  const { server, proxy } = await start();
  const context = await browser.newContext({ baseURL: server.address, storageState: undefined });
  try {
    const page = await context.newPage();
    await signUp(page, server);
    await describe(page, "kept", "kept", configMap("before"));
    await page.getByRole("button", { name: "Continue to Placement" }).click();
    await step(page, "Placement");
    await page.getByRole("button", { name: "Back" }).click();
    await step(page, "Source");
    await expect(page.locator(".cm-content")).toContainText("before");

    const other = await context.newPage();
    await open(other, "/workloads");

    proxy.cut();
    await paste(page, "deploy.yaml", configMap("typed-in-the-outage"));
    await page.getByRole("button", { name: "Continue to Placement" }).click();
    await expect(page.getByText("The database is not available:")).toBeVisible();
    await expect(page.getByText(/^Not saved: /)).toBeVisible();
    await step(page, "Source");
    await expect(page.locator(".cm-content")).toContainText("typed-in-the-outage");
    const banner = other.getByText(/nothing can be saved/);
    await expect(banner).toBeVisible();
    await expect(other.getByText(/Workloads keep running: the agents keep applying what was published/)).toBeVisible();
    await expect(row(other, "kept"), "the last state stays").toContainText("Draft");

    proxy.restore();
    await expect(banner).toHaveCount(0);
    await alive(page);
    await page.getByRole("button", { name: "Continue to Placement" }).click();
    await step(page, "Placement");
    await page.goto("/workloads/kept/edit/source");
    await expect(page.locator(".cm-content")).toContainText("typed-in-the-outage");
  } finally {
    await context.close();
    await server.stop();
    await proxy.stop();
  }
});
