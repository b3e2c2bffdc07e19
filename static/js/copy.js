
// Returns the text to copy: of a console session the commands, without prompts and output.
function copied(code) {
  if (!code.querySelector(".gp")) return code.textContent;
  let command = false;
  const lines = code.textContent.split("\n").filter((line) => {
    const kept = command || line.startsWith("$ ");
    command = kept && line.endsWith("\\");
    return kept;
  });
  return lines.map((line) => line.replace(/^\$ /, "")).join("\n");
}

define("copy-text", (element) => {
  const button = element.querySelector("button");
  const code = element.querySelector("code");
  let back;
  button?.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(copied(code));
    } catch {
      // Without permission or https: select the text, so that the user can copy it.
      getSelection().selectAllChildren(code);
      return announce("Selected: press Ctrl+C to copy");
    }
    button.classList.add("done");
    announce("Copied");
    clearTimeout(back);
    back = setTimeout(() => button.classList.remove("done"), 2000);
  });
});
