
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
