
const themes = ["system", "light", "dark"];

function stored() {
  try {
    return themes.includes(localStorage.theme) ? localStorage.theme : themes[0];
  } catch {
    return themes[0];
  }
}

function paint(theme) {
  if (theme === themes[0]) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

paint(stored());

define("theme-switch", (element) => {
  const button = element.querySelector("button");
  const word = element.querySelector("[data-word]");
  let theme = stored();
  const show = () => {
    element.dataset.now = theme;
    button.ariaLabel = button.title = `Theme: ${theme === themes[0] ? "system" : theme}`;
    if (word) word.textContent = button.title;
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.theme = theme;
    } catch {
      // The choice then applies to this page only.
    }
    paint(theme);
    show();
    announce(button.title);
  });
  show();
});
