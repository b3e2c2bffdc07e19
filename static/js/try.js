
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
