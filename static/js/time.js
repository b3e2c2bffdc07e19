
// Times in the viewer's zone and language. The server renders UTC, which stays in
// the datetime attribute.
const clockOf = (date, seconds) => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: seconds ? "2-digit" : undefined, hourCycle: "h23" });
const dayOf = (date, now) => date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: date.getFullYear() === now.getFullYear() ? undefined : "numeric" });
const sameDay = (a, b) => a.toDateString() === b.toDateString();

const written = {
  ago(date, now) {
    const passed = (now - date) / 1000;
    if (passed < 60) return "Just now";
    if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
    if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
    return dayOf(date, now);
  },
  at(date, now) {
    if (sameDay(date, now)) return `Today ${clockOf(date)}`;
    if (sameDay(date, new Date(now - 864e5))) return `Yesterday ${clockOf(date)}`;
    return `${dayOf(date, now)}, ${clockOf(date)}`;
  },
  clock: (date) => clockOf(date, true),
  minute: (date) => clockOf(date),
  day: dayOf,
  date: (date, now) => (sameDay(date, now) ? "Today" : sameDay(date, new Date(now - 864e5)) ? "Yesterday" : dayOf(date, now)),
  in(date, now) {
    const left = (date - now) / 1000;
    const [size, unit] = left > 86400 ? [86400, "day"] : left > 3600 ? [3600, "hour"] : left > 60 ? [60, "minute"] : [1, "second"];
    const n = Math.ceil(left / size);
    return left <= 0 ? "now" : `in ${n} ${unit}${n === 1 ? "" : "s"}`;
  },
};

/** Writes the times below root in the viewer's zone. */
function localTimes(root = document) {
  const now = new Date();
  for (const element of root.querySelectorAll("time[data-as]")) {
    const date = new Date(element.dateTime);
    const text = written[element.dataset.as]?.(date, now);
    if (text && element.textContent !== text) element.textContent = text;
    if (element.dataset.zone) continue;
    element.dataset.zone = "1";
    element.title = date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
  }
}

localTimes();
setInterval(localTimes, 30_000);
document.addEventListener("htmx:after:swap", () => localTimes());
