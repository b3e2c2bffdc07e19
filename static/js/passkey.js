// Forms that the browser completes with a passkey (W3C Web Authentication).
define("pass-key", (element) => {
  const form = element.querySelector("form");
  const problem = form.querySelector("[role=alert]");
  form.addEventListener("submit", async (event) => {
    const { credential } = form.elements;
    if (credential.value) return; // complete: it is sent now
    event.preventDefault();
    event.stopPropagation();
    try {
      const options = JSON.parse(element.dataset.options);
      const { credentials } = navigator;
      const made = await ("create" in element.dataset
        ? credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }));
      credential.value = JSON.stringify(made);
      form.requestSubmit(event.submitter);
    } catch (error) {
      problem.textContent =
        error.name === "InvalidStateError"
          ? "This device already has a passkey for your account."
          : "The passkey was not used. Try again, or choose another way.";
      problem.hidden = false;
    }
  });
});
