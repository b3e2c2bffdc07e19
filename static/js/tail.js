
/** Refreshes the parts of the page that depend on a live list. */
async function refreshLiveParts() {
  const answer = await fetch(location.href, { headers: { "X-Background": "1" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live-part]")) {
    const now = page.getElementById(part.id);
    if (!now) return location.reload(); // the page has changed
    part.replaceWith(document.adoptNode(now));
  }
}

define("live-tail", (element) => {
  const list = element.querySelector("ul");
  const pause = element.querySelector("[data-pause]");
  const state = element.querySelector("[data-state]");
  const keep = Number(element.dataset.keep);
  let source, due;
  const show = (word, tone) => {
    state.textContent = word;
    state.className = `badge dot ${tone}`;
  };
  const start = () => {
    source = new EventSource(element.dataset.url);
    source.onopen = () => show("Live", "ok");
    source.onerror = () => (source.readyState === EventSource.CLOSED ? show("Ended", "bad") : show("Reconnecting", "warn"));
    source.onmessage = ({ data }) => {
      list.insertAdjacentHTML("afterbegin", data);
      while (list.children.length > keep) list.lastElementChild.remove();
      due ??= setTimeout(() => {
        due = undefined;
        refreshLiveParts().catch(() => {}); // the next event retries
      }, 2000);
    };
  };
  const stop = () => {
    source?.close();
    clearTimeout(due);
    due = undefined;
  };
  pause.addEventListener("click", () => {
    const paused = pause.ariaPressed !== "true";
    pause.ariaPressed = String(paused);
    pause.textContent = paused ? "Resume" : "Pause";
    if (paused) {
      stop();
      show("Paused", "");
    } else start();
  });
  element.addEventListener("gone", stop);
  start();
});
