
define("pop-up", (element) => {
  const details = element.querySelector("details");
  const close = (event) => {
    if (details.open && !(event.type === "click" && element.contains(event.target)) && (!event.key || event.key === "Escape")) {
      if (event.key) details.querySelector("summary").focus();
      details.open = false;
    }
  };
  document.addEventListener("click", close);
  document.addEventListener("keydown", close);
  element.addEventListener("gone", () => {
    document.removeEventListener("click", close);
    document.removeEventListener("keydown", close);
  });
});
