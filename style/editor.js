// The YAML editor: one lazy ES module (`assets.json` → "editor.js"), loaded by the pages that need it.
//
// The text stays in a plain <textarea> of the form: without this module the page works, with it the textarea is
// covered by an editor that writes every change back and fires `input` on it. Two ways to use it:
//
// 1. As an element (importing the module defines it):
//
//      <flotilla-editor label="deploy.yaml">
//        <textarea class="editor-source" name="yaml" aria-label="deploy.yaml">…</textarea>
//      </flotilla-editor>
//
//    Properties  findings   list of findings (below); replaces the previous list
//                value      the text; setting it replaces the document as one undoable edit and fires nothing
//    Attributes  label      accessible name, if the textarea has none
//                readonly   shows without editing
//    Methods     goTo(line, column)   puts the cursor there, scrolls, focuses
//    Events      `input` on the textarea (bubbles through the element)
//                `editor-cursor` {line, column}; `editor-tab` {leaves: bool}; `editor-fix` {code, finding} after a fix
//
//    The editor's own nodes live in a shadow root, so the page's markup is the same on the server, before and
//    after this module is loaded, and hydration is not affected.
//
// 2. As a function: mount(textarea, { onChange(text), findings, label, readOnly, parent, root })
//    returns { view, setFindings(list), setValue(text), goTo(line, column), destroy() }.
//
// A finding: { line, column, endColumn?, severity: "error" | "warning" | "note", code, message, fix?: { label, insert } }
// Lines and columns count from 1, columns in UTF-16 units; without endColumn the rest of the line is marked.
// `fix.insert` replaces the marked text.
//
// Keys: Tab leaves the editor until Ctrl+M (⇧⌥M on a Mac) lets it indent; Ctrl+F searches; F8 goes to the next finding.
// Colours are the page's custom properties, so themes need no code here.

import { autocompletion, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, gutterLineClass, GutterMarker, highlightActiveLineGutter, keymap, lineNumbers, ViewPlugin } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// ── Theme ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const mono = "var(--font-mono, ui-monospace, monospace)";

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "transparent", color: "var(--color-ink)", fontSize: "12px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: mono, lineHeight: "20px", fontFeatureSettings: "normal", fontVariantLigatures: "none", letterSpacing: "-0.01em" },
  ".cm-content": { padding: "4px 0 24px", caretColor: "var(--color-accent)" },
  "&.cm-focused .cm-content": { outline: "2px solid var(--color-accent)", outlineOffset: "-2px" },
  ".cm-line": { padding: "0 16px 0 8px" },
  ".cm-cursor": { borderLeftColor: "var(--color-accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--color-accent-soft)" },
  ".cm-selectionMatch": { backgroundColor: "var(--color-fill)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--color-fill)", outline: "1px solid var(--color-line-strong)" },
  ".cm-gutters": { backgroundColor: "var(--color-sunken)", border: "none", color: "var(--color-text-3)" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "44px", padding: "0 4px 0 8px", fontVariantNumeric: "tabular-nums" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--color-ink)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--color-fill)", border: "none", color: "var(--color-text-2)", padding: "0 6px" },
  ".cm-gutter-lint": { width: "18px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "3px 2px" },
  ".cm-lint-marker": { width: "13px", height: "13px", content: "normal", backgroundColor: "var(--color-unknown)", clipPath: "circle(44%)" },
  ".cm-lint-marker-warning": { content: "normal", backgroundColor: "var(--color-drifted)", clipPath: "polygon(50% 6%, 100% 94%, 0 94%)" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--color-degraded)", clipPath: "polygon(30% 2%, 70% 2%, 98% 30%, 98% 70%, 70% 98%, 30% 98%, 2% 70%, 2% 30%)" },
  ".cm-line.finding-error, .cm-gutterElement.finding-error": { backgroundColor: "var(--color-degraded-soft)" },
  ".cm-line.finding-warning, .cm-gutterElement.finding-warning": { backgroundColor: "var(--color-drifted-soft)" },
  ".cm-lintRange": { backgroundImage: "none", textDecorationLine: "underline", textDecorationStyle: "wavy", textDecorationThickness: "1px", textUnderlineOffset: "3px" },
  ".cm-lintRange-error": { textDecorationColor: "var(--color-degraded)" },
  ".cm-lintRange-warning": { textDecorationColor: "var(--color-drifted)" },
  ".cm-lintRange-info": { textDecorationColor: "var(--color-unknown)" },
  ".cm-tooltip": { border: "none", borderRadius: "10px", backgroundColor: "var(--color-overlay)", color: "var(--color-ink)", boxShadow: "var(--pop)", fontFamily: "var(--font-sans)", fontSize: "12px", lineHeight: "16px" },
  ".cm-tooltip-lint": { padding: "4px 0" },
  ".cm-diagnostic": { border: "none", padding: "6px 12px", whiteSpace: "normal", maxWidth: "420px" },
  ".cm-diagnostic b": { fontFamily: mono, fontWeight: "550", marginRight: "6px" },
  ".cm-diagnosticAction": { display: "inline-block", height: "28px", margin: "8px 0 2px", padding: "0 10px", border: "1px solid var(--color-line-strong)", borderRadius: "6px", backgroundColor: "var(--color-canvas)", color: "var(--color-ink)", fontFamily: "var(--font-sans)", fontSize: "12px", fontWeight: "550", cursor: "pointer" },
  ".cm-panels": { backgroundColor: "var(--color-sunken)", color: "var(--color-ink)", fontFamily: "var(--font-sans)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--color-line-strong)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--color-line-strong)" },
  ".cm-panel.cm-search": { padding: "8px 12px", fontSize: "12px" },
  ".cm-panel.cm-panel-lint ul": { fontFamily: "var(--font-sans)", maxHeight: "140px" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { backgroundColor: "var(--color-fill)", color: "var(--color-ink)" },
  ".cm-textfield": { height: "28px", border: "1px solid var(--color-control)", borderRadius: "6px", backgroundColor: "var(--color-canvas)", color: "var(--color-ink)", fontSize: "12px" },
  ".cm-button": { height: "28px", border: "1px solid var(--color-line-strong)", borderRadius: "6px", backgroundImage: "none", backgroundColor: "var(--color-canvas)", color: "var(--color-ink)", fontSize: "12px" },
  ".cm-panel label": { fontSize: "12px" },
  ".cm-searchMatch": { backgroundColor: "var(--color-drifted-soft)", outline: "1px solid var(--color-drifted)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--color-accent-soft)", outline: "1px solid var(--color-accent)" },
  ".yaml-number": { color: "var(--color-code-number)" },
  ".yaml-text": { color: "var(--color-accent)" },
  "@media (width < 40rem)": { "&": { fontSize: "16px" }, ".cm-scroller": { lineHeight: "24px" } },
});

// Keys ink, strings accent, comments text-3; plain scalars are coloured by `scalars`.
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--color-ink)" },
  { tag: tags.string, color: "var(--color-accent)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--color-text-3)", fontStyle: "italic" },
  { tag: [tags.separator, tags.punctuation, tags.squareBracket, tags.brace], color: "var(--color-text-2)" },
  { tag: [tags.meta, tags.typeName, tags.labelName, tags.keyword], color: "var(--color-text-3)" },
]);

const NUMBER = /^(?:[-+]?(?:\d[\d_]*)(?:\.\d*)?(?:e[-+]?\d+)?|0x[\da-f]+|0o[0-7]+|true|false|null|~)$/i;
const asNumber = Decoration.mark({ class: "yaml-number" });
const asText = Decoration.mark({ class: "yaml-text" });

// The YAML grammar distinguishes plain from quoted scalars, but not numbers from words.
const scalars = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = colourScalars(view);
    }
    update(change) {
      if (change.docChanged || change.viewportChanged || syntaxTree(change.startState) !== syntaxTree(change.state)) {
        this.decorations = colourScalars(change.view);
      }
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

function colourScalars(view) {
  const found = [];
  for (const { from, to } of view.visibleRanges) {
    syntaxTree(view.state).iterate({
      from,
      to,
      enter(node) {
        if (node.name === "Key") return false;
        if (node.name !== "Literal" && node.name !== "BlockLiteralContent") return;
        const text = view.state.sliceDoc(node.from, Math.min(node.to, node.from + 40));
        if (node.from < node.to) found.push((NUMBER.test(text) ? asNumber : asText).range(node.from, node.to));
      },
    });
  }
  return Decoration.set(found, true);
}

// ── Findings ──────────────────────────────────────────────────────────────────────────────────────────────────────

const showFindings = StateEffect.define();

class Tint extends GutterMarker {
  constructor(severity) {
    super();
    this.elementClass = `finding-${severity}`;
  }
}
const tints = Object.fromEntries(
  ["error", "warning"].map((severity) => [severity, { line: Decoration.line({ class: `finding-${severity}` }), gutter: new Tint(severity) }]),
);

// Tints the lines and their numbers; marker, underline and tooltip come from the lint package.
const tinted = StateField.define({
  create: () => ({ lines: Decoration.none, gutters: RangeSet.empty }),
  update({ lines, gutters }, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(showFindings)) return tint(transaction.state.doc, effect.value);
    }
    return { lines: lines.map(transaction.changes), gutters: gutters.map(transaction.changes) };
  },
  provide: (field) => [
    EditorView.decorations.from(field, (tint) => tint.lines),
    gutterLineClass.from(field, (tint) => tint.gutters),
  ],
});

function tint(doc, findings) {
  const worst = new Map();
  for (const { line, severity } of findings) {
    if (line < 1 || line > doc.lines || severity === "note") continue;
    if (worst.get(line) !== "error") worst.set(line, severity);
  }
  const rows = [...worst].sort((a, b) => a[0] - b[0]);
  const at = (kind) => rows.map(([line, severity]) => tints[severity][kind].range(doc.line(line).from));
  return { lines: Decoration.set(at("line")), gutters: RangeSet.of(at("gutter")) };
}

// A finding may be older than the text: positions are clamped to the document.
function diagnostic(doc, finding, host) {
  const line = doc.line(Math.min(Math.max(finding.line | 0, 1), doc.lines));
  const at = (column) => Math.min(line.from + Math.max(column - 1, 0), line.to);
  const from = at(finding.column ?? 1);
  const to = Math.max(from, at(finding.endColumn ?? line.length + 1));
  const fix = finding.fix && {
    name: finding.fix.label,
    apply(view, start, end) {
      view.dispatch({ changes: { from: start, to: end, insert: finding.fix.insert }, userEvent: "input.fix" });
      view.focus();
      fire(host, "editor-fix", { code: finding.code, finding });
    },
  };
  return {
    from,
    to,
    severity: finding.severity === "note" ? "info" : finding.severity,
    message: `${finding.code} ${finding.message}`,
    renderMessage() {
      const text = document.createElement("span");
      const code = document.createElement("b");
      code.textContent = finding.code;
      text.append(code, finding.message);
      return text;
    },
    actions: fix ? [fix] : [],
  };
}

const fire = (target, name, detail) => target.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));

// ── Mount ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const fromOutside = Annotation.define();

/** Covers `textarea` with an editor. See the head of this file. */
export function mount(textarea, options = {}) {
  const host = options.parent?.host ?? textarea;
  let findings = options.findings ?? [];
  let tabLeaves = true;

  const toggleTab = (view) => {
    tabLeaves = !tabLeaves;
    view.setTabFocusMode(tabLeaves);
    fire(host, "editor-tab", { leaves: tabLeaves });
    return true;
  };
  const changed = EditorView.updateListener.of((update) => {
    if (update.docChanged && !update.transactions.some((t) => t.annotation(fromOutside))) {
      textarea.value = update.state.doc.toString();
      textarea.dispatchEvent(new Event("input", { bubbles: true }));
      options.onChange?.(textarea.value);
    }
    if (update.selectionSet || update.docChanged) {
      const head = update.state.selection.main.head;
      const line = update.state.doc.lineAt(head);
      fire(host, "editor-cursor", { line: line.number, column: head - line.from + 1 });
    }
  });

  const view = new EditorView({
    parent: options.parent ?? coverOf(textarea),
    root: options.root,
    state: EditorState.create({
      doc: textarea.value,
      extensions: [
        lineNumbers(), foldGutter(), lintGutter(), highlightActiveLineGutter(),
        history(), drawSelection(), indentOnInput(), indentUnit.of("  "), bracketMatching(), closeBrackets(),
        autocompletion(), highlightSelectionMatches(), search({ top: true }),
        yaml(), syntaxHighlighting(colours), scalars, tinted, theme, changed,
        EditorState.readOnly.of(Boolean(options.readOnly)),
        EditorView.contentAttributes.of({
          "aria-label": options.label ?? textarea.getAttribute("aria-label") ?? "YAML",
          "aria-multiline": "true",
          tabindex: "0",
          spellcheck: "false",
          autocorrect: "off",
          autocapitalize: "off",
        }),
        keymap.of([
          { key: "Ctrl-m", mac: "Shift-Alt-m", run: toggleTab },
          indentWithTab, ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap,
        ]),
      ],
    }),
  });
  view.setTabFocusMode(true);
  // Line heights may have been measured with the fallback font.
  document.fonts?.ready.then(() => view.requestMeasure());

  const api = {
    view,
    setFindings(list) {
      findings = list ?? [];
      view.dispatch({ effects: showFindings.of(findings) });
      view.dispatch(setDiagnostics(view.state, findings.map((finding) => diagnostic(view.state.doc, finding, host))));
    },
    setValue(text) {
      const old = view.state.doc.toString();
      if (text === old) return;
      // Replaces only what differs, so that cursor, folds and scroll position are retained.
      const most = Math.min(old.length, text.length);
      let from = 0;
      while (from < most && old[from] === text[from]) from += 1;
      let same = 0;
      while (same < most - from && old[old.length - 1 - same] === text[text.length - 1 - same]) same += 1;
      const changes = { from, to: old.length - same, insert: text.slice(from, text.length - same) };
      view.dispatch({ changes, annotations: fromOutside.of(true) });
      textarea.value = text;
    },
    goTo(line, column = 1) {
      const target = view.state.doc.line(Math.min(Math.max(line | 0, 1), view.state.doc.lines));
      const at = Math.min(target.from + Math.max(column - 1, 0), target.to);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    destroy() {
      view.destroy();
      textarea.hidden = false;
    },
  };
  if (findings.length) api.setFindings(findings);
  return api;
}

function coverOf(textarea) {
  const cover = document.createElement("div");
  textarea.after(cover);
  textarea.hidden = true;
  return cover;
}

// ── Element ───────────────────────────────────────────────────────────────────────────────────────────────────────

class FlotillaEditor extends HTMLElement {
  #editor = null;
  #waiting = { findings: [], value: null };

  connectedCallback() {
    // A property set before this module was loaded is on the instance and hides the accessor.
    for (const name of ["findings", "value"]) {
      if (Object.hasOwn(this, name)) {
        const early = this[name];
        delete this[name];
        this[name] = early;
      }
    }
    const textarea = this.querySelector("textarea");
    if (!textarea || this.#editor) return;
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":host{display:block} .cover{height:100%} *{box-sizing:border-box}");
    root.adoptedStyleSheets = [sheet];
    const cover = document.createElement("div");
    cover.className = "cover";
    root.replaceChildren(cover);
    this.#editor = mount(textarea, {
      parent: Object.assign(cover, { host: this }),
      root,
      label: this.getAttribute("label") ?? undefined,
      readOnly: this.hasAttribute("readonly"),
    });
    if (this.#waiting.value !== null) this.#editor.setValue(this.#waiting.value);
    this.#editor.setFindings(this.#waiting.findings);
    textarea.form?.addEventListener("reset", () => setTimeout(() => this.#editor?.setValue(textarea.value)));
  }

  disconnectedCallback() {
    if (!this.#editor) return;
    this.#waiting.value = this.value;
    this.#editor.destroy();
    this.#editor = null;
  }

  get findings() {
    return this.#waiting.findings;
  }

  set findings(list) {
    this.#waiting.findings = list ?? [];
    this.#editor?.setFindings(this.#waiting.findings);
  }

  get value() {
    return this.#editor ? this.#editor.view.state.doc.toString() : (this.querySelector("textarea")?.value ?? "");
  }

  set value(text) {
    this.#waiting.value = text;
    if (this.#editor) this.#editor.setValue(text);
    else if (this.querySelector("textarea")) this.querySelector("textarea").value = text;
  }

  goTo(line, column) {
    this.#editor?.goTo(line, column);
  }
}

if (!customElements.get("flotilla-editor")) customElements.define("flotilla-editor", FlotillaEditor);
