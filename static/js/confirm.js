// Forms that change secrets. The form is first posted without effect: users
// whose confirmation is due get the dialog, confirm in it, and the form is sent
// after that. Without scripts they confirm on a page, and the server sends the
// form itself.
const confirmed = new WeakSet();

const partOf = async (response) =>
  new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-confirm]");

/** Returns the dialog if the form requires a confirmation. */
async function dialogFor(form, submitter) {
  const fields = [...new FormData(form, submitter)].filter(([, value]) => typeof value === "string");
  const action = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  const response = await fetch(action, { method: "POST", body: new URLSearchParams(fields), headers: { "X-Confirm": "1" }, redirect: "manual" });
  const part = response.status === 403 && (await partOf(response));
  if (!part || !part.querySelector("form")) return null; // not due, or only possible on a page
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", part.getAttribute("aria-labelledby"));
  dialog.append(document.adoptNode(part));
  return dialog;
}

/** Confirms the password in the dialog. False means that the form must not be sent. */
function confirmIn(dialog) {
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
    const { target } = event;
    const response = await fetch(target.getAttribute("action"), { method: "POST", body: new URLSearchParams(new FormData(target)) }).catch(() => ({}));
    done = response.status === 204;
    if (done) return dialog.close();
    const again = response.text && (await partOf(response));
    if (!again) return location.reload(); // signed out, or the gateway is gone
    dialog.replaceChildren(document.adoptNode(again));
    again.querySelector("[type=password]")?.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector("[type=password]")?.focus();
  return promise;
}

document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (!("careful" in form.dataset) || event.defaultPrevented || confirmed.delete(form)) return;
  const field = form.elements[form.dataset.carefulIf];
  if (field && field.value === field.defaultValue) return;
  event.preventDefault();
  const dialog = await dialogFor(form, submitter).catch(() => null);
  if (dialog && !(await confirmIn(dialog))) return submitter?.focus();
  confirmed.add(form);
  form.requestSubmit(submitter);
});
