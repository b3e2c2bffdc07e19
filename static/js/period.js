// "[" and "]" show the period before and after.
document.addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
  if (ctrlKey || metaKey || altKey || target.closest("input,select,textarea,dialog")) return;
  const move = { "[": "prev", "]": "next" }[key];
  if (move) document.querySelector(`a[data-period=${move}]`)?.click();
});

// The page names the zone that its times are in.
for (const zone of document.querySelectorAll("[data-zone-name]")) {
  zone.textContent = `Times in your zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
}

// A paused list gets no new rows. It catches up when it resumes.
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-pause]");
  if (!button) return;
  const root = document.documentElement;
  const paused = root.dataset.paused !== button.dataset.pause;
  if (paused) root.dataset.paused = button.dataset.pause;
  else delete root.dataset.paused;
  button.ariaPressed = String(paused);
  button.querySelector("span").textContent = paused ? "Resume" : "Pause";
  if (!paused) document.dispatchEvent(new Event("resume"));
});
