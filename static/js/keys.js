
// Keyboard shortcuts. Sequences are a letter that opens a group ("g", "c") and a
// second one within a second.
define("hot-keys", (element) => {
  const help = element.querySelector("dialog");
  let group = "";
  let before = 0;
  const rows = () =>
    [...document.querySelectorAll("main a.row-link, main a.card-link, main .tbl tbody a.name")].filter((row) => row.checkVisibility());
  const target = { g: "go", c: "create" };
  const move = (step) => {
    const all = rows();
    const here = all.indexOf(document.activeElement);
    const to = all[step > 0 ? here + 1 : Math.max(here, 1) - 1];
    to?.focus();
    to?.scrollIntoView({ block: "nearest" });
  };
  const press = (event) => {
    const { key, target: at, timeStamp } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (key === "Escape" && at.matches("input[type=search]")) return at.blur();
    if (at.isContentEditable || at.matches("input:not([type=checkbox],[type=radio]),select,textarea") || document.querySelector("dialog:modal")) return;
    const begun = timeStamp - before < 1000 && target[group];
    before = 0;
    const link = begun && document.querySelector(`[data-${begun}="${CSS.escape(key)}"]`);
    if (link) link.click();
    else if (target[key]) return void ((before = timeStamp), (group = key));
    else if (key === "?") help.showModal();
    else if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
    else if (key === "/") {
      const field = document.querySelector('[data-hotkey="/"]');
      field?.focus();
      field?.select();
    } else return;
    event.preventDefault();
  };
  const open = (event) => {
    if (!event.target.closest("[data-help]")) return;
    event.preventDefault();
    help.showModal();
  };
  document.addEventListener("keydown", press);
  document.addEventListener("click", open);
  element.addEventListener("gone", () => {
    document.removeEventListener("keydown", press);
    document.removeEventListener("click", open);
  });
});
