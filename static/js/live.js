
// The event stream of a page. Each event replaces the element with its id, or
// adds rows at the beginning of it.
define("live-page", (element) => {
  const state = element.querySelector("[data-state]");
  const closeAfter = 30_000;
  let source, hidden;
  let wait = 1_000;
  const show = (word, tone) => {
    if (state.textContent !== word) state.textContent = word;
    state.className = `js status ${tone}`;
  };
  const apply = ({ id, html, keep }) => {
    const part = document.getElementById(id);
    if (!part) return;
    if (keep) {
      if (document.documentElement.dataset.paused === id) return;
      part.insertAdjacentHTML("afterbegin", html);
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
    source = new EventSource(element.dataset.url);
    source.onopen = () => {
      wait = 1_000;
      show("Live", "ok");
    };
    source.onmessage = ({ data }) => apply(JSON.parse(data));
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
  const seen = () => {
    clearTimeout(hidden);
    if (!document.hidden) return start();
    hidden = setTimeout(() => {
      stop();
      show("Paused", "idle");
    }, closeAfter);
  };
  document.addEventListener("visibilitychange", seen);
  element.addEventListener("gone", () => {
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(hidden);
    stop();
  });
  seen();
});
