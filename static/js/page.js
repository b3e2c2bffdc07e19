// Enhances pages that also work without scripts. Every part is a custom
// element around server-rendered markup. Controls that need scripts are hidden
// until the page is marked as having scripts.

document.documentElement.dataset.js = "";

const define = (name, connect) =>
  customElements.define(
    name,
    class extends HTMLElement {
      connectedCallback() {
        if (this.ready) return;
        this.ready = true;
        // Upgraded elements already have their children. An element that htmx
        // has just inserted may not have them yet.
        queueMicrotask(() => connect(this));
      }
      disconnectedCallback() {
        this.dispatchEvent(new Event("gone"));
      }
    },
  );

/** Announces an event to screen readers. */
function announce(text) {
  let place = document.getElementById("said");
  if (!place) {
    place = Object.assign(document.createElement("p"), { id: "said", className: "visually-hidden" });
    place.setAttribute("role", "status");
    document.body.append(place);
  }
  place.textContent = text;
}

// Returns the text to copy: of a console session the commands, without prompts and output.
function copied(code) {
  if (!code.querySelector(".gp")) return code.textContent;
  let command = false;
  const lines = code.textContent.split("\n").filter((line) => {
    const kept = command || line.startsWith("$ ");
    command = kept && line.endsWith("\\");
    return kept;
  });
  return lines.map((line) => line.replace(/^\$ /, "")).join("\n");
}

define("copy-text", (element) => {
  const button = element.querySelector("button");
  const code = element.querySelector("code");
  let back;
  button?.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(copied(code));
    } catch {
      // Without permission or https: select the text, so that the user can copy it.
      getSelection().selectAllChildren(code);
      return announce("Selected: press Ctrl+C to copy");
    }
    button.classList.add("done");
    announce("Copied");
    clearTimeout(back);
    back = setTimeout(() => button.classList.remove("done"), 2000);
  });
});

const themes = ["system", "light", "dark"];

function stored() {
  try {
    return themes.includes(localStorage.theme) ? localStorage.theme : themes[0];
  } catch {
    return themes[0];
  }
}

function paint(theme) {
  if (theme === themes[0]) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

paint(stored());

define("theme-switch", (element) => {
  const button = element.querySelector("button");
  let theme = stored();
  const show = () => {
    element.dataset.now = theme;
    button.ariaLabel = button.title = `Theme: ${theme === themes[0] ? "system" : theme}`;
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.theme = theme;
    } catch {
      // The choice then applies to this page only.
    }
    paint(theme);
    show();
    announce(button.title);
  });
  show();
});

define("pop-up", (element) => {
  const details = element.querySelector("details");
  const close = (event) => {
    if (details.open && !(event.type === "click" && element.contains(event.target)) && (!event.key || event.key === "Escape")) {
      if (event.key) details.querySelector("summary").focus();
      details.open = false;
    }
  };
  document.addEventListener("click", close);
  document.addEventListener("keydown", close);
  element.addEventListener("gone", () => {
    document.removeEventListener("click", close);
    document.removeEventListener("keydown", close);
  });
});

define("confirm-dialog", (element) => {
  const details = element.querySelector("details");
  const body = details.querySelector(".dialog-body");
  const summary = details.querySelector("summary");
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", body.getAttribute("aria-labelledby"));
  dialog.append(body);
  element.append(dialog);
  summary.setAttribute("aria-haspopup", "dialog");
  // The button opens the dialog, which has the content of the details element.
  summary.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.showModal();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
  });
  if (details.open) {
    details.open = false;
    dialog.showModal();
  }
});

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
    state.className = `badge dot ${tone}`;
  };
  const draw = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.firstElementChild;
  };
  const handle = ({ name, html, url }) => {
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
      location.assign(url);
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
      step.querySelector(".badge").textContent = "Stopped";
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
      for await (const event of events(answer.body)) if (!handle(event)) return;
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

define("try-form", (element) => {
  let next = 0;
  element.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.add) {
      const template = document.getElementById(button.dataset.add);
      let around = button.parentElement;
      while (around !== element && !around.querySelector("[data-rows]")) around = around.parentElement;
      const rows = around.querySelector("[data-rows]");
      const row = template.content.cloneNode(true);
      // Unique ids keep labels with their fields when the same row is added again.
      next++;
      for (const named of row.querySelectorAll("[id],[for]")) {
        if (named.id) named.id += `-${next}`;
        if (named.htmlFor) named.htmlFor += `-${next}`;
      }
      const field = row.querySelector("input,select,textarea");
      rows.append(row);
      field?.focus();
    } else if (button && "remove" in button.dataset) {
      const row = button.closest("[data-row]");
      const other = row.nextElementSibling ?? row.previousElementSibling ?? row.parentElement.nextElementSibling;
      row.remove();
      (other?.matches("button") ? other : other?.querySelector("input,select,textarea,button"))?.focus();
    }
  });
});

// Forms that change secrets. Users whose confirmation is due confirm in a
// dialog, and the form is sent after that. Without scripts they confirm on a
// page, and the server sends the form itself.
const confirmed = new WeakSet();

const confirmPart = async (answer) => {
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const part = page.querySelector("[data-confirm]");
  return part?.querySelector("form") && document.adoptNode(part);
};

/** Confirms the password if that is due. False means that the form must not be sent. */
async function confirmInPlace(action) {
  const answer = await fetch(`/login/again?dialog=1&act=${encodeURIComponent(action)}`);
  const part = answer.status !== 204 && (await confirmPart(answer));
  if (!part) return true; // not due, or only possible on a page
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", part.getAttribute("aria-labelledby"));
  dialog.append(part);
  document.body.append(dialog);
  const { promise, resolve } = Promise.withResolvers();
  let done = false;
  dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(done);
  });
  dialog.addEventListener("click", (event) => {
    if (!event.target.closest("[data-close]")) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = new URLSearchParams(new FormData(event.target));
    body.set("dialog", "1");
    const proof = await fetch(event.target.getAttribute("action"), { method: "POST", body });
    const again = proof.status !== 204 && (await confirmPart(proof));
    done = !again;
    if (!again) return dialog.close();
    dialog.replaceChildren(again);
    again.querySelector("[type=password]").focus();
  });
  dialog.showModal();
  return promise;
}

document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (!("careful" in form.dataset) || event.defaultPrevented || confirmed.delete(form)) return;
  const field = form.elements[form.dataset.carefulIf];
  if (field && field.value === field.defaultValue) return;
  event.preventDefault();
  if (!(await confirmInPlace(form.getAttribute("action")).catch(() => true))) return;
  confirmed.add(form);
  form.requestSubmit(submitter);
});

// Fields that submit their form on change.
document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-submit]")) target.form.requestSubmit();
});

define("hot-keys", (element) => {
  const help = element.querySelector("dialog");
  let before = 0;
  const rows = () =>
    [...document.querySelectorAll("main a.row-link, main a.card-link")].filter((row) => row.checkVisibility());
  const press = (event) => {
    const { key, target, timeStamp } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (key === "Escape" && target.matches("input[type=search]")) return target.blur();
    if (target.isContentEditable || target.matches("input,select,textarea") || document.querySelector("dialog:modal")) return;
    const goes = timeStamp - before < 1000;
    before = 0;
    let to;
    if (goes) to = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    if (to) to.click();
    else if (key === "g") return void (before = timeStamp);
    else if (key === "?") help.showModal();
    else if (key === "/") {
      to = document.querySelector('[data-hotkey="/"]');
      to?.focus();
      to?.select();
    } else if (key === "j" || key === "k") {
      const all = rows();
      const here = all.indexOf(document.activeElement);
      to = all[key === "j" ? here + 1 : Math.max(here, 1) - 1];
      to?.focus();
      to?.scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", press);
  element.addEventListener("gone", () => document.removeEventListener("keydown", press));
});

// A response without the part to replace is another page, such as the sign-in
// page: it replaces the whole page.
document.addEventListener("htmx:after:request", (event) => {
  const { ctx } = event.detail;
  const id = /^#[\w-]+$/.test(ctx.select) && ctx.select.slice(1);
  if (!id || ctx.text.includes(`id="${id}"`)) return;
  event.preventDefault();
  location.assign(ctx.request.method === "GET" ? ctx.request.action : location.href);
});
