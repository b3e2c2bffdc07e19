
// The palette searches on the server and moves through the results by keyboard.
const palette = document.getElementById("palette");

if (palette) {
  let asked = 0;
  let due;
  const hits = () => [...palette.querySelectorAll(".hit")];
  const mark = (to) => {
    const all = hits();
    for (const hit of all) hit.ariaSelected = String(hit === to);
    palette.querySelector("input").setAttribute("aria-activedescendant", to?.id ?? "");
    to?.scrollIntoView({ block: "nearest" });
  };
  const marked = () => palette.querySelector('.hit[aria-selected="true"]');
  const load = async (query) => {
    const mine = ++asked;
    const response = await fetch(`${palette.dataset.url}?dialog=1&from=${encodeURIComponent(location.pathname)}&query=${encodeURIComponent(query)}`);
    if (!response.ok || response.redirected) return location.assign(palette.dataset.url);
    const html = await response.text();
    if (mine !== asked) return; // a later query has been sent
    const field = palette.querySelector("input");
    if (!field) {
      palette.innerHTML = html;
      palette.querySelector("input").focus();
    } else {
      const fresh = new DOMParser().parseFromString(html, "text/html");
      palette.querySelector("[role=listbox]").replaceWith(document.adoptNode(fresh.querySelector("[role=listbox]")));
    }
    mark(hits()[0]);
  };
  const open = () => {
    if (palette.open) return;
    palette.showModal();
    const field = palette.querySelector("input");
    if (field) {
      field.value = "";
      field.focus();
    }
    load("").catch(() => palette.close());
  };
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-palette]") || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("keydown", (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (palette.open) palette.close();
      else open();
    }
  });
  palette.addEventListener("input", ({ target }) => {
    clearTimeout(due);
    due = setTimeout(() => load(target.value).catch(() => {}), 60);
  });
  palette.addEventListener("click", (event) => event.target === palette && palette.close());
  palette.addEventListener("keydown", async (event) => {
    const all = hits();
    const at = all.indexOf(marked());
    if (event.key === "ArrowDown") mark(all[(at + 1) % all.length]);
    else if (event.key === "ArrowUp") mark(all[(at - 1 + all.length) % all.length]);
    else if (event.key === "Enter") {
      event.preventDefault();
      const { value } = palette.querySelector("input");
      clearTimeout(due);
      if (palette.querySelector("[role=listbox]").dataset.query !== value.trim()) await load(value);
      const hit = marked();
      if (!hit) return;
      if (event.metaKey || event.ctrlKey) window.open(hit.href, "_blank", "noopener");
      else hit.click();
      return;
    } else return;
    event.preventDefault();
  });
}
