"use strict";
// Filters the table that a form names. The state of the form is the page's address.
const MOST_ROWS = 100;

for (const form of document.querySelectorAll("form.search")) {
  // a control named "dataset" hides the form's property of that name
  const part = document.getElementById(form.getAttribute("data-table"));
  const [body] = part.querySelector("table").tBodies;
  const status = document.querySelector("[role=status]");
  const more = part.querySelector("button.more");
  let most = MOST_ROWS;
  const site = window.evalkitSite;
  const runs = new Map((site?.runs ?? []).map((run) => [run.page, run]));
  const sets = (site?.sets ?? []).map((values) => new Set(values));
  const lowered = (site?.sets ?? []).map((values) => values.join("\n").toLowerCase());

  const entries = new Map([...body.rows].map((row) => {
    const run = runs.get(row.querySelector('a[href^="runs/"]')?.getAttribute("href"));
    const words = run ? `\n${lowered[run.tags]}\n${lowered[run.languages]}` : "";
    return [row, { run, text: row.textContent.toLowerCase() + words }];
  }));

  const tests = {
    text: ({ text }, value) =>
      value.trim().toLowerCase().split(/\s+/).every((word) => text.includes(word)),
    dataset: ({ run }, value) => run.dataset === value,
    model: ({ run }, value) => run.model === value,
    metrics: ({ run }, value) => sets[run.metrics].has(value),
    tags: ({ run }, value) => sets[run.tags].has(value),
    languages: ({ run }, value) => sets[run.languages].has(value),
    from: ({ run }, value) => run.moment >= value,
    to: ({ run }, value) => run.moment !== "" && run.moment.slice(0, 10) <= value,
  };

  function filter() {
    const chosen = [...new FormData(form)].filter(([, value]) => value.trim() !== "");
    let count = 0;
    for (const row of body.rows) {
      const entry = entries.get(row);
      const isFound = chosen.every(([name, value]) => tests[name](entry, value));
      count += isFound;
      row.hidden = !isFound || count > most;
    }
    const first = count > most ? `, the first ${most} shown` : "";
    status.textContent = `${count} of ${entries.size} found${first}`;
    more.hidden = count <= most;
    history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
  }

  function restore() {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const control = form.elements.namedItem(name);
      if (control) control.value = value;
    }
    filter();
  }

  form.addEventListener("input", filter);
  part.querySelector("thead").addEventListener("click", () => setTimeout(filter));
  more.addEventListener("click", () => { most = Infinity; filter(); });
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  restore();
}
