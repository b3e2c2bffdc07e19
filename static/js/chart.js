// The crosshair of a chart: the values under the pointer, or those chosen with
// the arrow keys, from its table. Dragging adds from and to to the address.
define("chart-view", (element) => {
  const chart = element.querySelector(".chart");
  const marks = chart.querySelector(".marks");
  const rows = [...element.querySelectorAll("tbody tr")];
  const heads = [...element.querySelectorAll("thead th")].slice(1);
  const times = rows.map((row) => new Date(row.querySelector("time").dateTime));
  const step = times[1] - times[0];
  const { url, back } = element.dataset;
  const tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
  let at = -1;
  let begin = -1;
  const draw = (name) => marks.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
  const set = (node, values) => Object.entries(values).forEach(([key, value]) => node.setAttribute(key, value));
  const part = (i) => `${(100 * i) / rows.length}%`;
  const add = (parent, name, text, className = "") => parent.appendChild(Object.assign(document.createElement(name), { textContent: text, className }));
  const cross = draw("line");
  const area = draw("rect");
  set(cross, { class: "cross", y2: "100%", visibility: "hidden" });
  set(area, { class: "sel", height: "100%", rx: 2 });
  chart.append(tip);
  const period = (from, to) => {
    const day = from.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" });
    return step >= 864e5 ? day : `${day}, ${clockOf(from, step < 6e4)}–${clockOf(to, step < 6e4)}`;
  };
  const end = (i) => new Date(+times[i] + step);
  const hide = () => {
    at = -1;
    tip.hidden = true;
    set(cross, { visibility: "hidden" });
  };
  const show = (i) => {
    if (i === at) return;
    at = i;
    set(cross, { x1: part(i + 0.5), x2: part(i + 0.5), visibility: "visible" });
    tip.replaceChildren();
    add(tip, "strong", period(times[i], end(i)));
    heads.forEach((head, n) => {
      const line = add(tip, "div", "");
      const key = add(line, "span", "", "k");
      if (head.dataset.swatch) add(key, "i", "", head.dataset.swatch);
      key.append(head.textContent);
      add(line, "span", rows[i].cells[n + 1].textContent);
    });
    tip.hidden = false;
    const left = marks.getBoundingClientRect().left - chart.getBoundingClientRect().left + ((i + 0.5) / rows.length) * marks.clientWidth;
    const beside = left + 12 + tip.offsetWidth > chart.clientWidth ? left - 12 - tip.offsetWidth : left + 12;
    tip.style.left = `${Math.max(0, beside)}px`;
  };
  const under = ({ clientX }) => {
    const box = marks.getBoundingClientRect();
    return Math.max(0, Math.min(rows.length - 1, Math.floor(((clientX - box.left) / box.width) * rows.length)));
  };
  const stop = () => {
    begin = -1;
    delete element.dataset.busy;
    set(area, { width: 0 });
  };
  const leave = () => back && location.assign(back);
  chart.addEventListener("pointermove", (event) => {
    const i = under(event);
    show(i);
    if (begin < 0) return;
    set(area, { x: part(Math.min(begin, i)), width: part(Math.abs(i - begin) + 1) });
  });
  chart.addEventListener("pointerdown", (event) => {
    if (!url || event.button || !marks.contains(event.target)) return;
    begin = under(event);
    element.dataset.busy = "1";
    chart.setPointerCapture(event.pointerId);
  });
  chart.addEventListener("pointerup", (event) => {
    const [from, to] = [begin, under(event)].sort((a, b) => a - b);
    stop();
    if (from < 0 || from === to) return;
    const next = new URL(url, location);
    const iso = (date) => date.toISOString().replace(".000", "");
    next.searchParams.set("from", iso(times[from]));
    next.searchParams.set("to", iso(end(to)));
    location.assign(next);
  });
  chart.addEventListener("pointercancel", stop);
  chart.addEventListener("pointerleave", hide);
  chart.addEventListener("blur", hide);
  chart.addEventListener("dblclick", leave);
  chart.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") (at < 0 ? leave : hide)();
    if (!move || event.target !== chart) return;
    event.preventDefault();
    show(Math.max(0, Math.min(rows.length - 1, (at < 0 && move < 0 ? rows.length : at) + move)));
    announce(tip.innerText);
  });
  stop();
});
