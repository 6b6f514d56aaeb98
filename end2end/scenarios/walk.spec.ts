// The first walk through the console whose time `cargo xtask bench walk` measures, here without its pace.

import { type Locator } from "@playwright/test";
import { walk } from "../bench/steps.mjs";
import { alive, expect, injectFault, open, test } from "./kit.js";

test("the first walk leads from an empty form over a reverted change and a missing image to a rollback", async ({ page }) => {
  test.slow();
  await open(page, "/workloads");
  await walk(page, {
    click: async (target: Locator) => {
      await expect(target).toBeVisible();
      // Before hydration, clicks act as without script.
      await alive(page);
      // The review enables its button once every cluster has reported its dry run.
      await expect(target).not.toHaveAttribute("aria-disabled", "true");
      await target.click();
    },
    type: (target: Locator, text: string) => target.fill(text),
    see: (target: Locator) => expect(target).toBeVisible(),
    injectFault,
    lap: () => undefined,
  });
});
