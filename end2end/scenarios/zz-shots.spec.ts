import { test, open, expect, describe as draft, fixture, toStep, step, publish, atRest } from "./kit.js";
const OUT = "/tmp/shots";
async function shoot(page: any, name: string) {
  for (const [w, h] of [[1440, 900], [390, 844]] as const) for (const scheme of ["light", "dark"] as const) {
    await page.setViewportSize({ width: w, height: h });
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await atRest(page);
    await page.screenshot({ path: `${OUT}/${name}-${w}-${scheme}.png`, fullPage: true });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}
test("shots", async ({ page, faults }) => {
  faults.expect(/.*/);
  test.setTimeout(300_000);
  await draft(page, "shot", "shot", fixture("three-tier", "web.yaml"));
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await step(page, "Placement");
  for (const c of ["eu-west-1", "eu-west-2", "us-east-1", "us-east-2"]) await page.getByRole("checkbox", { name: c }).check();
  await toStep(page, "Rollout");
  await step(page, "Rollout");
  await shoot(page, "rollout-empty");
  await page.getByRole("button", { name: "Canary first" }).click();
  await page.getByRole("group", { name: "Wave 1: canary" }).getByLabel("Soak time").fill("soon");
  await page.getByText("When, and what counts").click();
  await shoot(page, "rollout-slip");
  await page.getByRole("group", { name: "Wave 1: canary" }).getByLabel("Soak time").fill("30m");
  await page.getByRole("group", { name: "Wave 3: rest" }).getByLabel("Somebody has to approve").check();
  await toStep(page, "Review");
  await expect(page.getByRole("heading", { name: "3 waves" })).toBeVisible();
  await page.waitForTimeout(4000);
  await shoot(page, "rollout-review");
  await publish(page, "shot");
  await page.waitForTimeout(9000);
  await shoot(page, "rollout-panel");
});
