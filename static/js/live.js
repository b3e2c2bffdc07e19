
// The event stream of a page. Each event replaces the element with its id, or
// adds rows at the beginning of it.
define("live-page", (element) => {
  const state = element.querySelector("[data-state]");
  const closeAfter = 30_000;
  let source, hidden, last;
  let wait = 1_000;
  const show = (word, tone) => {
    if (state.textContent !== word) state.textContent = word;
    state.className = `js status ${tone}`;
  };
  const paused = () => document.documentElement.dataset.paused;
  const apply = ({ id, html, keep }) => {
    const part = document.getElementById(id);
    if (!part || part.querySelector("[data-busy]")) return;
    if (keep) {
      const rows = document.createElement("template");
      rows.innerHTML = html;
      for (const row of [...rows.content.children]) if (row.id && document.getElementById(row.id)) row.remove();
      part.prepend(rows.content);
      while (part.children.length > keep) part.lastElementChild.remove();
    } else if (!part.contains(document.activeElement) || part.children.length === 0) part.outerHTML = html;
    else replaceAround(part, html);
    localTimes();
    document.dispatchEvent(new CustomEvent("live", { detail: id }));
  };
  // Keeps the focus on the element with the same id or link.
  const replaceAround = (part, html) => {
    const { id, href } = document.activeElement;
    const open = part.querySelector("details[open], dialog[open]");
    if (open || document.activeElement.matches("input,select,textarea")) return; // in use; the next event replaces it
    part.outerHTML = html;
    const again = id ? document.getElementById(id) : href && [...document.querySelectorAll("a")].find((link) => link.href === href);
    again?.focus();
  };
  const start = () => {
    if (source) return;
    source = new EventSource(element.dataset.url + (last ? `&from=${last}` : ""));
    source.onopen = () => {
      wait = 1_000;
      show("Live", "ok");
    };
    source.onmessage = ({ data, lastEventId }) => {
      const message = JSON.parse(data);
      // Rows of a paused list are sent again after it resumes. Other events
      // repeat the id of the rows before.
      if (message.keep && paused() === message.id) return;
      if (message.keep) last = lastEventId;
      apply(message);
    };
    source.onerror = () => {
      stop();
      show("Reconnecting", "wait");
      setTimeout(() => document.hidden || start(), wait);
      wait = Math.min(2 * wait, 30_000);
    };
  };
  const stop = () => {
    source?.close();
    source = undefined;
  };
  const restart = () => {
    stop();
    start();
  };
  const seen = () => {
    clearTimeout(hidden);
    if (!document.hidden) return start();
    hidden = setTimeout(() => {
      stop();
      show("Paused", "idle");
    }, closeAfter);
  };
  document.addEventListener("visibilitychange", seen);
  document.addEventListener("resume", restart);
  element.addEventListener("gone", () => {
    document.removeEventListener("visibilitychange", seen);
    document.removeEventListener("resume", restart);
    clearTimeout(hidden);
    stop();
  });
  seen();
});
