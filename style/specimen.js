// Shows every token and component on one page, for visual checks: `npm run specimen`, then open the printed address.
// `?theme=dark` picks a theme. Not shipped.

import { execFileSync } from "node:child_process";
import { readFileSync, mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";

const here = import.meta.dirname;
const out = mkdtempSync(join(tmpdir(), "flotilla-specimen-"));
const run = (tool, ...args) => execFileSync(tool, args, { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
const bin = join(here, "node_modules/.bin");

run(join(bin, "tailwindcss"), "-i", "specimen.css", "-o", join(out, "specimen.css"));
run("node", "icons.js", join(out, "icons.svg"));
run(join(bin, "esbuild"), "editor.js", "--bundle", "--format=esm", `--outfile=${join(out, "editor.js")}`, "--log-level=warning");

const files = {
  "/": join(here, "specimen.html"),
  "/specimen.css": join(out, "specimen.css"),
  "/icons.svg": join(out, "icons.svg"),
  "/editor.js": join(out, "editor.js"),
  "/pkg/inter.woff2": join(here, "node_modules/@fontsource-variable/inter/files/inter-latin-opsz-normal.woff2"),
  "/pkg/jetbrains-mono.woff2": join(here, "node_modules/@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2"),
};
const kinds = { ".html": "text/html", ".css": "text/css", ".svg": "image/svg+xml", ".js": "text/javascript", ".woff2": "font/woff2" };

const server = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  const file = files[url.pathname];
  if (!file) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": kinds[extname(file)] });
  const theme = url.searchParams.get("theme");
  const body = readFileSync(file);
  response.end(theme && url.pathname === "/" ? body.toString().replace("<html", `<html data-theme="${theme === "dark" ? "dark" : "light"}"`) : body);
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
