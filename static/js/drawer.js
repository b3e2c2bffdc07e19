
// The drawer of narrow windows scrolls to the current page and closes on Escape
// and on a click next to it.
define("drawer-menu", (element) => {
  const details = element.querySelector("details");
  const side = document.querySelector(".side-bar");
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    const current = side.querySelector("[aria-current=page]") ?? side.querySelector("a");
    current.scrollIntoView({ block: "nearest" });
    current.focus();
  });
  const close = (event) => {
    if (!details.open || side.contains(event.target) || element.contains(event.target)) return;
    details.open = false;
  };
  const escape = (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary").focus();
  };
  document.addEventListener("click", close);
  document.addEventListener("keydown", escape);
  element.addEventListener("gone", () => {
    document.removeEventListener("click", close);
    document.removeEventListener("keydown", escape);
  });
});
