// Lists with checkboxes: counts the ticked rows, and ticks whole groups and pages.
// Every checkbox and action also works without it.
define("bulk-select", (element) => {
  const form = element.querySelector("form.bulk");
  if (!form) return; // a viewer's list
  const out = form.querySelector("[data-count]");
  const all = form.querySelector("[data-all]");
  const number = (text) => Number(text.replaceAll(",", ""));
  const ticks = () => [...element.querySelectorAll("tbody [type=checkbox]")];
  const isGroup = (box) => "rowsOf" in box.dataset;
  let before = "";
  const count = () => {
    let n = 0;
    for (const body of element.querySelectorAll("tbody")) {
      const boxes = [...body.querySelectorAll("[type=checkbox]")];
      const group = boxes.find(isGroup);
      n += group?.checked ? number(group.dataset.rowsOf) : boxes.filter((box) => box.checked && !isGroup(box)).length;
    }
    for (const box of ticks()) if (!isGroup(box)) box.closest("tr").ariaSelected = String(box.checked);
    const text = `${all.checked ? form.dataset.matches : n.toLocaleString("en")} selected`;
    out.textContent = text;
    if (text !== before) announce(text);
    before = text;
  };
  element.addEventListener("change", ({ target }) => {
    if (target.type !== "checkbox") return;
    const rows = (boxes, checked) => boxes.forEach((box) => (box.checked = checked));
    if ("page" in target.dataset) rows(ticks(), target.checked);
    else if (target !== all) {
      const boxes = [...target.closest("tbody").querySelectorAll("[type=checkbox]")];
      if (isGroup(target)) rows(boxes, target.checked);
      else if (!target.checked) rows(boxes.filter(isGroup), false);
    }
    if (!target.checked && target !== all) {
      all.checked = false;
      const page = element.querySelector("[data-page]");
      if (page) page.checked = false;
    }
    count();
  });
  form.addEventListener("reset", () => {
    element.querySelectorAll("[data-page]").forEach((box) => (box.checked = false));
    setTimeout(count); // the boxes are reset after this event
  });
  const press = (event) => {
    if (event.key !== "x" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]),textarea,select")) return;
    const box = document.activeElement?.closest("bulk-select tbody tr")?.querySelector("[type=checkbox]");
    if (!box) return;
    event.preventDefault();
    box.click();
  };
  document.addEventListener("keydown", press);
  element.addEventListener("gone", () => document.removeEventListener("keydown", press));
  if (ticks().some((box) => box.checked)) count(); // restored by the browser
});

// Keys of a page: they press the control whose data-key they are.
define("page-keys", (element) => {
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
    if (event.target.isContentEditable || event.target.matches("input,select,textarea") || document.querySelector("dialog:modal")) return;
    const control = event.key === "u" ? document.querySelector('form[action="/admin/undo"] button:not([type=button])') : element.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!control) return;
    event.preventDefault();
    control.click();
  };
  document.addEventListener("keydown", press, true);
  element.addEventListener("gone", () => document.removeEventListener("keydown", press, true));
});
