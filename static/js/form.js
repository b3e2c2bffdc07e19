
// Parses events of a stream (WHATWG HTML, "Server-sent events") in the form
// that the gateway writes: one line of JSON each.
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece; !(piece = await reader.read()).done; ) {
    const whole = (rest + piece.value).split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      if (name) yield { name, ...JSON.parse(data) };
    }
  }
}

define("live-form", (element) => {
  const form = element.querySelector("form");
  const live = element.querySelector("[data-live]");
  const [state, clock, stop, steps] = ["state", "clock", "stop", "steps"].map((name) => live.querySelector(`[data-${name}]`));
  const part = () => document.getElementById(element.dataset.part);
  let work, kept;
  const show = (word, tone) => {
    state.textContent = word;
    state.className = `status ${tone}`;
  };
  const draw = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.firstElementChild;
  };
  /** Replaces the parts that the work changed with those of the page at url. */
  const swap = async (url) => {
    const page = new DOMParser().parseFromString(await (await fetch(url)).text(), "text/html");
    const parts = element.dataset.swap.split(" ").map((id) => [document.getElementById(id), page.getElementById(id)]);
    if (!parts.every(([old, now]) => old && now)) return location.assign(url);
    for (const [old, now] of parts) old.replaceWith(document.adoptNode(now));
    history.replaceState(null, "", url);
    live.hidden = true;
    document.dispatchEvent(new Event("outcome"));
    parts[0][1].scrollIntoView({ block: "nearest" });
    announce("Run finished");
  };
  const handle = async ({ name, html, url }) => {
    const row = html && draw(html);
    if (name === "step") {
      const before = row.id && steps.querySelector(`#${CSS.escape(row.id)}`);
      if (before) before.replaceWith(row);
      else {
        steps.append(row);
        steps.scrollTop = steps.scrollHeight;
      }
      return true;
    }
    if (url) {
      show("Done", "ok");
      if (element.dataset.swap) await swap(url);
      else location.assign(url);
    } else {
      live.hidden = true;
      part().append(row);
    }
    return false;
  };
  /** Shows that the work was stopped, and links to its stored outcome. */
  const stopped = async () => {
    show("Stopped", "warn");
    for (const step of steps.querySelectorAll("[data-open]")) {
      step.querySelector(".status").textContent = "Stopped";
      delete step.dataset.open;
    }
    const at = kept;
    const answer = at && (await fetch(at));
    const link = answer?.status === 200 && draw(await answer.text());
    // The next work may have started in the meantime.
    if (link && !work && at === kept) state.parentElement.append(link);
  };
  /** Posts the form; any response other than a stream is the new page. */
  const run = async () => {
    const { signal } = work;
    kept = null;
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "text/event-stream" }, signal });
    if (answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      kept = answer.headers.get("Content-Location");
      for await (const event of events(answer.body)) if (!(await handle(event))) return;
      throw new Error("stream ended early");
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(element.dataset.part);
    // Another page, such as the sign-in page: the server has stored the form.
    if (!page && answer.redirected) return location.assign(answer.url);
    if (!page) return location.reload();
    part().replaceWith(document.adoptNode(page));
    page.querySelector("[role=alert]")?.focus();
  };
  form.addEventListener("submit", async (event) => {
    if (event.submitter?.name) return; // a button for another page
    event.preventDefault();
    if (work) return;
    work = new AbortController();
    part().querySelectorAll("[data-outcome]").forEach((old) => old.remove());
    steps.replaceChildren();
    live.hidden = stop.hidden = false;
    show("Running", "");
    live.scrollIntoView({ block: "nearest" });
    const begun = Date.now();
    const tick = () => (clock.textContent = `${Math.round((Date.now() - begun) / 1000)} s`);
    const ticking = setInterval(tick, 1000);
    tick();
    try {
      await run();
    } catch {
      if (!work.signal.aborted) show("Connection lost", "bad");
    }
    clearInterval(ticking);
    stop.hidden = true;
    const { aborted } = work.signal;
    work = undefined;
    if (aborted) stopped().catch(() => {}); // the list of runs still has it
  });
  stop.addEventListener("click", () => work?.abort());
  element.addEventListener("gone", () => work?.abort());
});
