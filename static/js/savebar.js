// Shows the bar of a form while the form differs from its first state.
define("save-bar", (element) => {
  const form = element.closest("form");
  const state = () => new URLSearchParams(new FormData(form)).toString();
  const first = state();
  form.addEventListener("input", () => {
    const changed = element.hasAttribute("data-unsaved") || state() !== first;
    if (element.toggleAttribute("data-changed", changed) && changed && !element.said) {
      element.said = true;
      announce("Unsaved changes");
    }
  });
});
