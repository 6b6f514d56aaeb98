// What is wider than the window.

import { type Page } from "@playwright/test";

/** Elements that overflow at the right without a scrolling ancestor. */
export function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const scrolls = (element: Element | null): boolean => {
      for (let at = element; at !== null && at !== document.body; at = at.parentElement) {
        if (/auto|scroll|hidden|clip/.test(getComputedStyle(at).overflowX)) return true;
      }
      return false;
    };
    const wide = [...document.body.querySelectorAll("*")].filter((element) => {
      const box = element.getBoundingClientRect();
      return box.width > 1 && box.height > 1 && box.right > innerWidth + 1 && !scrolls(element.parentElement) && !element.closest("[popover]:not(:popover-open)");
    });
    const found = wide.map((element) => element.outerHTML.slice(0, 120));
    const page = document.documentElement.scrollWidth - innerWidth;
    return page > 0 ? [`the page by ${page} px`, ...found] : found;
  });
}
