// Stores the choice of a group of radio buttons for later pages.
define("remember-choice", (element) =>
  element.addEventListener("change", ({ target }) => {
    document.cookie = `${target.name}=${encodeURIComponent(target.value)}; path=/; max-age=31536000; samesite=lax`;
  }),
);
