// A textarea for code with line numbers, colors and keys.

const codeWords = "async await break case catch class const continue default delete do else export false finally for from function if import in instanceof let new null of return switch this throw true try typeof undefined var void while yield".split(" ");
const codeParts = /\/\/.*|\/\*[^]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[^]|[^`\\])*`?|[A-Za-z_$][\w$]*|[&<>]/g;
const codeEscapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** Returns code as HTML: comments in u, codeWords in i, the given names in b. */
const colored = (code, names) =>
  code.replace(codeParts, (part) => {
    const text = part.replace(/[&<>]/g, (c) => codeEscapes[c]);
    if (/^\/[/*]/.test(part)) return `<u>${text}</u>`;
    if (codeWords.includes(part)) return `<i>${text}</i>`;
    return names.has(part) ? `<b>${text}</b>` : text;
  });

define("code-editor", (element) => {
  const [gutter, paper, area] = ["div", "pre", "textarea"].map((name) => element.querySelector(name));
  const names = new Set(element.dataset.names.split(" "));
  let leaving = false;
  const paint = () => {
    const marked = element.dataset.lines.split(" ");
    paper.innerHTML = `${colored(area.value, names)}\n`;
    gutter.innerHTML = area.value.split("\n").map((_, i) => (marked.includes(`${i + 1}`) ? `<b class="c-bad">${i + 1}</b>` : i + 1)).join("\n");
  };
  const insert = (text) => {
    // Unlike setRangeText, this can be undone.
    if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    paint();
  };
  const show = () => {
    if (!area.checkVisibility()) element.closest("[data-panes]")?.querySelector("[type=radio]").click();
    area.focus();
  };
  /** Removes one level of indentation from the line of the caret. */
  const outdent = () => {
    const at = area.selectionStart;
    const start = area.value.lastIndexOf("\n", at - 1) + 1;
    const spaces = /^ {0,2}/.exec(area.value.slice(start))[0].length;
    if (!spaces) return;
    area.setSelectionRange(start, start + spaces);
    if (!document.execCommand("delete")) area.setRangeText("", start, start + spaces);
    area.selectionEnd = area.selectionStart = Math.max(start, at - spaces);
    paint();
  };
  area.addEventListener("keydown", (event) => {
    const { key, shiftKey } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      area.form.requestSubmit(document.querySelector(`[data-run][form="${area.form.id}"]`));
    } else if (key === "Tab" && !leaving && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      if (shiftKey) outdent();
      else insert("  ");
    } else if (key === "Enter" && !shiftKey && !event.isComposing) {
      const line = area.value.slice(area.value.lastIndexOf("\n", area.selectionStart - 1) + 1, area.selectionStart);
      const indent = /^ */.exec(line)[0];
      if (indent) {
        event.preventDefault();
        insert(`\n${indent}`);
      }
    }
    if (key !== "Shift") leaving = key === "Escape";
  });
  area.addEventListener("input", paint);
  const click = (event) => {
    const { insert: text, into, line } = event.target.closest("[data-into]")?.dataset ?? {};
    if (into !== area.id) return;
    event.preventDefault();
    show();
    if (text) insert(text);
    if (!line) return;
    const lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1);
    area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    element.scrollTop = (line - 3) * parseFloat(getComputedStyle(area).lineHeight);
  };
  document.addEventListener("click", click);
  // A new outcome names the lines to mark.
  const mark = () => {
    element.dataset.lines = document.querySelector(`[data-marks="${area.id}"]`)?.dataset.lines ?? "";
    paint();
  };
  document.addEventListener("outcome", mark);
  element.addEventListener("gone", () => {
    document.removeEventListener("click", click);
    document.removeEventListener("outcome", mark);
  });
  element.classList.add("on");
  paint();
});

// A search that replaces the part of the page with its results, so that nothing
// else on the page is lost.
define("part-search", (element) => {
  const field = element.querySelector("input");
  let due, request;
  const find = async () => {
    request?.abort();
    request = new AbortController();
    const part = document.getElementById(element.dataset.part);
    const answer = await fetch(`${element.dataset.url}?${field.name}=${encodeURIComponent(field.value)}`, { signal: request.signal });
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(part.id);
    if (found) part.replaceWith(document.adoptNode(found));
  };
  field.addEventListener("input", () => {
    clearTimeout(due);
    due = setTimeout(() => find().catch(() => {}), 200); // the next input retries
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
});
