// Writes the icon sprite: one <symbol> per status (drawn here, each with its own shape, so that status does not
// depend on colour) and one per action (lucide, with our stroke). Pages use it as
//   <svg class="icon" aria-hidden="true"><use href="/icons.svg#healthy"/></svg>
// Colour is `currentColor`; marks inside solid shapes have the canvas colour, which `<use>` inherits.
//
//   node icons.js OUT.svg

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const pen = (width, colour = "currentColor", more = "") =>
  `fill="none" stroke="${colour}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round"${more}`;
const line = pen(1.5);
const thin = pen(1.25);
const mark = pen(1.6, "var(--color-canvas,#fff)");
const thinMark = pen(1.4, "var(--color-canvas,#fff)");
const dots = pen(1.5, "currentColor", ' stroke-dasharray="0.1 2.95"');
const dash = `fill="none" stroke="currentColor" stroke-width="1.25" stroke-linejoin="round" stroke-dasharray="1.7 1.3"`;

const RING = (stroke) => `<circle cx="8" cy="8" r="6.25" ${stroke}/>`;
const OCTAGON = "M5.4 1.75h5.2l3.65 3.65v5.2l-3.65 3.65H5.4L1.75 10.6V5.4z";
const TRIANGLE = "M8 2.1 14.6 13.6H1.4z";
const BACK = "M2.2 8 13.4 2.2v11.6z";
const DIAMOND = "M8 1 15 8l-7 7-7-7z";
const SQUARE = "M4.25 1.75h7.5a2.5 2.5 0 0 1 2.5 2.5v7.5a2.5 2.5 0 0 1-2.5 2.5h-7.5a2.5 2.5 0 0 1-2.5-2.5v-7.5a2.5 2.5 0 0 1 2.5-2.5z";
const solid = (d) => `<path d="${d}" fill="currentColor" stroke="currentColor" stroke-width="1" stroke-linejoin="round"/>`;
const TICK = "m5.2 8.2 2 2 3.7-4.2";
const CROSS = "m6 6 4 4m0-4-4 4";
const BANG = "M8 4.9v3.6m0 2.4v.1";
const ASK = "M6.2 6.3a1.85 1.85 0 1 1 2.6 1.75c-.5.25-.8.55-.8 1.15m0 2v.1";
const BARS = [[2.2, 10.2], [6.8, 7], [11.4, 3.6]];
const bar = ([x, y], paint) => `<rect x="${x}" y="${y}" width="2.6" height="${(13.6 - y).toFixed(1)}" rx="0.9" ${paint}/>`;
const full = 'fill="currentColor"';

const status = {
  pending: RING(dots) + `<circle cx="8" cy="8" r="1.3" ${full}/>`,
  queued: RING(line) + `<path d="M5.2 8h.1M8 8h.1m2.7 0h.1" ${line}/>`,
  pulling: RING(line) + `<path d="M8 5v5.4M5.8 8.4 8 10.6l2.2-2.2" ${line}/>`,
  applying: RING(line) + `<path d="M8 8V3.9A4.1 4.1 0 1 1 3.9 8z" ${full} transform="matrix(-1 0 0 1 16 0)"/>`,
  progressing: RING(line) + `<path d="M8 1.75v12.5a6.25 6.25 0 0 1 0-12.5z" ${full}/>`,
  healthy: `<circle cx="8" cy="8" r="7" ${full}/><path d="${TICK}" ${mark}/>`,
  synced: `<path d="m2.8 8.6 3.4 3.4 7-8" ${pen(1.75)}/>`,
  degraded: solid(OCTAGON) + `<path d="${CROSS}" ${mark}/>`,
  failed: solid(OCTAGON) + `<path d="${BANG}" ${mark}/>`,
  missing: `<path d="${OCTAGON}" ${line}/><path d="M5.4 8h5.2" ${line}/>`,
  drifted: solid(TRIANGLE),
  stale: solid(BACK),
  blocked: solid("M8 1.6 14.4 8 8 14.4 1.6 8z") + `<path d="${BANG}" ${mark}/>`,
  suspended: `<rect x="3.4" y="2" width="3" height="12" rx="0.8" ${full}/><rect x="9.6" y="2" width="3" height="12" rx="0.8" ${full}/>`,
  "not-assessed": RING(line),
  unknown: `<path d="${SQUARE}" fill="currentColor" stroke="currentColor"/><path d="${ASK}" ${thinMark}/>`,
  removing: RING(line) + `<path d="M5.2 8h5.6" ${line}/>`,
  terminating: RING(dots) + `<path d="M5.2 8h5.6" ${line}/>`,
  removed: `<path d="M3 8h10" ${line}/>`,
  orphaned: `<path d="${SQUARE}" ${line}/><path d="m4.8 11.2 6.4-6.4" ${line}/>`,
  "not-installed": RING(dots),
  online: BARS.map((b) => bar(b, full)).join(""),
  late: bar(BARS[0], full) + bar(BARS[1], full) + bar(BARS[2], 'fill="currentColor" fill-opacity="0.45"'),
  offline:
    BARS.map((b) => bar(b, 'fill="currentColor" fill-opacity="0.55"')).join("") +
    `<path d="m1.4 1.8 12 12" ${pen(3.4, "var(--color-canvas,#fff)")}/><path d="m1.8 2.2 11.4 11.4" ${thin}/>`,
  // Findings.
  error: solid(OCTAGON) + `<path d="${BANG}" ${mark}/>`,
  warning: solid(TRIANGLE) + `<path d="M8 6.2v3.2m0 2.2v.1" ${thinMark}/>`,
  note: RING(line) + `<path d="M8 7.6v3.3M8 5.1v.1" ${line}/>`,
  // Stages.
  "stage-done": `<path d="m3.4 8.4 3 3 6.2-7" ${line}/>`,
  "stage-later": `<circle cx="8" cy="8" r="2.75" ${line}/>`,
  "stage-skipped": RING(line) + `<path d="M5.4 8h5.2" ${line}/>`,
  // Last known: own shape, dashed.
  "pending-last": RING(dash) + `<circle cx="8" cy="8" r="1.1" ${full}/>`,
  "progressing-last": RING(dash) + `<path d="M8 4v8a4 4 0 0 1 0-8z" ${full} fill-opacity="0.5"/>`,
  "healthy-last": RING(dash) + `<path d="${TICK}" ${thin}/>`,
  "not-assessed-last": RING(dash),
  "degraded-last": `<path d="${OCTAGON}" ${dash}/><path d="${CROSS}" ${thin}/>`,
  "failed-last": `<path d="${OCTAGON}" ${dash}/><path d="${BANG}" ${thin}/>`,
  "missing-last": `<path d="${OCTAGON}" ${dash}/><path d="M5.6 8h4.8" ${thin}/>`,
  "drifted-last": `<path d="${TRIANGLE}" ${dash}/>`,
  "stale-last": `<path d="${BACK}" ${dash}/>`,
  "blocked-last": `<path d="${DIAMOND}" ${dash}/><path d="${BANG}" ${thin}/>`,
  "suspended-last": `<rect x="3.6" y="2.4" width="2.8" height="11.2" rx="0.6" ${dash}/><rect x="9.6" y="2.4" width="2.8" height="11.2" rx="0.6" ${dash}/>`,
  "unknown-last": `<path d="${SQUARE}" ${dash}/><path d="${ASK}" ${thin}/>`,
  // The mark: two sails over a hull; the small sail takes the accent.
  brand:
    '<path d="M8.9 1.2c2.3 2.3 3.6 5.2 4 8.9H8.9z" fill="currentColor"/>' +
    '<path d="M7.5 4.4v5.7H2.9c1-2.6 2.5-4.5 4.6-5.7z" fill="var(--color-accent,currentColor)"/>' +
    '<path d="M1 11.6h14c-.4 1.9-1.5 3-3.1 3H4.1c-1.6 0-2.7-1.1-3.1-3z" fill="currentColor"/>',
};

// Our name: lucide's name.
const actions = {
  fleet: "layout-grid", workload: "box", cluster: "server", group: "shapes", rollout: "git-commit-horizontal",
  drift: "triangle", incident: "octagon-alert", activity: "history", settings: "settings", help: "circle-question-mark",
  search: "search", close: "x", check: "check", plus: "plus", minus: "minus", more: "ellipsis", menu: "menu",
  "chevron-down": "chevron-down", "chevron-right": "chevron-right", "chevron-left": "chevron-left",
  "chevron-up": "chevron-up", switch: "chevrons-up-down", "arrow-left": "arrow-left", "arrow-right": "arrow-right",
  "arrow-up": "arrow-up", "arrow-down": "arrow-down", edit: "pencil", lock: "lock", copy: "copy", refresh: "refresh-cw",
  theme: "sun-moon", sun: "sun", moon: "moon", filter: "list-filter", yaml: "file-code", open: "external-link",
  play: "play", pause: "pause", stop: "square", trash: "trash-2", undo: "undo-2", retry: "rotate-ccw",
  download: "download", upload: "upload", terminal: "terminal", eye: "eye", "eye-off": "eye-off", "sign-out": "log-out",
  person: "user", people: "users", token: "key-round", bell: "bell", link: "link", logs: "scroll-text", spinner: "loader-circle",
  chart: "package", folder: "folder", tag: "tag", calendar: "calendar-clock", branch: "git-branch", shield: "shield",
  star: "star", "grip": "grip-vertical", columns: "columns-3", fault: "hammer", mail: "mail", webhook: "webhook",
};

const lucide = join(dirname(createRequire(import.meta.url).resolve("lucide-static/package.json")), "icons");

function action(id, file) {
  const svg = readFileSync(join(lucide, `${file}.svg`), "utf8");
  const body = svg.slice(svg.indexOf(">", svg.indexOf("<svg")) + 1, svg.lastIndexOf("</svg>"));
  const inner = body.replace(/\s+/g, " ").trim();
  return `<symbol id="${id}" viewBox="0 0 24 24"><g fill="none" stroke="currentColor" stroke-width="2.25" stroke-linecap="round" stroke-linejoin="round">${inner}</g></symbol>`;
}

const symbols = [
  ...Object.entries(status).map(([id, body]) => `<symbol id="${id}" viewBox="0 0 16 16">${body}</symbol>`),
  ...Object.entries(actions).map(([id, file]) => action(id, file)),
];
writeFileSync(process.argv[2], `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("\n")}</svg>\n`);
