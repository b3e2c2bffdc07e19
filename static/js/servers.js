
// A server that is being added. Its connection is tested when the page opens, and on
// request. Fields that were edited in the meantime stay: then only the outcome is
// replaced.
define("draft-row", (row) => {
  const { url, row: number } = row.dataset;
  let edited = false;
  row.addEventListener("input", () => (edited = true));
  row.addEventListener("click", (event) => {
    if (!event.target.closest("[name=test]")) return;
    event.preventDefault();
    test();
  });
  const test = async () => {
    edited = false;
    const result = row.querySelector(".tested");
    result.innerHTML = '<span class="status wait">Connecting…</span>';
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(row.closest("form"))) if (name.startsWith(`${number}.`) || name === "csrf" || name === "count") body.append(name, value);
    try {
      const answer = await fetch(`${url}?row=${number}`, { method: "POST", body });
      if (!answer.ok || answer.redirected) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("draft-row");
      announce(`${row.querySelector("[name$='.alias']").value}: ${fresh.querySelector(".tested").textContent.trim()}`);
      if (edited || row.contains(document.activeElement)) result.replaceChildren(...fresh.querySelector(".tested").childNodes);
      else row.replaceWith(fresh);
    } catch {
      result.innerHTML = '<span class="status bad">Couldn’t test</span>';
    }
  };
  if ("test" in row.dataset) test();
});
