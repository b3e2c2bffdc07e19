
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
