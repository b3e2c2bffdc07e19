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

// Fields that submit their form on change.
document.addEventListener("change", ({ target }) => {
  if (target.matches("[data-submit]")) target.form.requestSubmit();
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

// The command key of the viewer's keyboard.
if (!/Mac|iPhone|iPad/.test(navigator.platform)) {
  for (const key of document.querySelectorAll("kbd")) key.textContent = key.textContent.replace("⌘K", "Ctrl K").replace("⌘", "Ctrl");
}
