"use strict";
// Shows the scores of two chosen runs side by side, and subtracts those that are comparable.
(() => {
  const site = window.evalkitSite;
  const form = document.querySelector("form.compare");
  const { dataset, first, second } = form.elements;
  const status = document.querySelector("[role=status]");
  const target = document.getElementById("comparison");
  const byId = new Map(site.runs.map((run) => [run.id, run]));
  const MOST_TAGS = 500;

  function make(name, content, attributes = {}) {
    const element = document.createElement(name);
    element.append(...[content].flat().filter((part) => part !== ""));
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  const label = (run) => [run.model, run.perturbation, run.moment, run.id.slice(0, 8)]
    .filter(Boolean).join(" · ");

  function offer(select, values, chosen) {
    select.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
    if (values.some(([value]) => value === chosen)) select.value = chosen;
  }

  function offerRuns(one, other) {
    const isPerturbed = (run) => run.perturbation !== "";
    const runs = site.runs.filter((run) => run.dataset === dataset.value)
      .sort((a, b) => isPerturbed(a) - isPerturbed(b));
    const values = runs.map((run) => [run.id, label(run)]);
    offer(first, values, one);
    const others = runs.filter((run) => run.id !== first.value);
    const next = others.find((run) => run.kind === byId.get(first.value).kind) ?? others[0];
    offer(second, values, other ?? next?.id);
  }

  function load(run) {
    if (site.scores[run.id]) return Promise.resolve(site.scores[run.id]);
    return new Promise((resolve, reject) => {
      const script = make("script", [], { src: run.scores });
      script.addEventListener("load", () => resolve(site.scores[run.id]));
      script.addEventListener("error", () => reject(new Error(`${run.scores} cannot be loaded`)));
      document.head.append(script);
    });
  }

  function difference(one, other, isApart) {
    const [component, , , , value, text] = one;
    if (isApart(component)) return "not comparable";
    if (value === null || other[4] === null) return "–";
    const digits = (shown) => (/\.(\d+)/.exec(shown)?.[1] ?? "").length;
    const places = Math.max(digits(text), digits(other[5]));
    const shown = (other[4] - value).toFixed(places);
    const sign = Number(shown) > 0 ? "+" : "";
    const unit = text.endsWith("%") || text.endsWith("%*") ? " points" : "";
    return `${sign}${shown.replace("-", "−")}${unit}`;
  }

  function scoreCell(row) {
    if (!row) return make("td", "–", { class: "n" });
    const [, , , , , value, interval, n, share, reason] = row;
    const beside = [interval, `n = ${n}`, share, reason].filter((text) => text && text !== "–");
    return make("td", [value, ...beside.map((text) => make("small", text))], { class: "n" });
  }

  function nameCell([, metric, examples, isWhole]) {
    return make("th", isWhole ? metric : [examples, make("small", metric)], { scope: "row" });
  }

  function table(runs, caption, rows, isApart) {
    const head = make("tr", [
      make("th", "Score", { scope: "col" }),
      ...runs.map((run) => make("th", [
        make("a", run.model, { href: run.page }), make("small", run.moment),
      ], { scope: "col", class: "n" })),
      make("th", "Second − first", { scope: "col", class: "n" }),
    ]);
    const body = rows.map(([one, other]) => make("tr", [
      nameCell(one ?? other), scoreCell(one), scoreCell(other),
      make("td", one && other ? difference(one, other, isApart) : "–", { class: "n" }),
    ]));
    const parts = [make("caption", caption), make("thead", head), make("tbody", body)];
    const shown = make("table", parts, { class: "pair" });
    return make("div", shown, { class: "wide", tabindex: 0, role: "region", "aria-label": caption });
  }

  function list(title, differences) {
    if (!differences.length) return [];
    const items = differences.map(([text]) => make("li", text));
    return [make("h2", title), make("ul", items, { class: "notices" })];
  }

  function pairs(one, other) {
    const key = (row) => row.slice(1, 4).join("\n");
    const found = new Map(one.map((row) => [key(row), [row, undefined]]));
    for (const row of other) found.set(key(row), [found.get(key(row))?.[0], row]);
    return [...found.values()];
  }

  function compare(runs, scores) {
    // of each difference: its text, the metric that differs or false, whether it is minor
    const found = site.differences[runs.map((run) => run.kind).join("-")] ?? [];
    const major = found.filter(([, , isMinor]) => !isMinor);
    const decisive = major.filter(([, metric]) => metric === false);
    const apart = new Set(major.map(([, metric]) => metric));
    const isApart = (component) => decisive.length > 0 || apart.has(component);
    const every = pairs(...scores);
    const whole = every.filter(([one, other]) => (one ?? other)[3]);
    const others = every.filter(([one, other]) => !(one ?? other)[3]);
    const command = `evalkit compare ${runs.map((run) => run.id).join(" ")}`;
    const note = decisive.length ? [] : [make("p", [
      "A difference may be due to chance. To test it on the examples of both runs: ",
      make("code", command)], { class: "note" })];
    target.replaceChildren(
      ...list("Not comparable", major),
      ...list("What else differs", found.filter(([, , isMinor]) => isMinor)),
      make("h2", "Scores"),
      table(runs, "Scores of all examples", whole, isApart),
      ...note,
      ...(others.length ? [make("h2", "By tag"), table(runs, "Scores by tag", others.slice(0, MOST_TAGS), isApart)] : []),
    );
    const more = others.length > MOST_TAGS ? ` The first ${MOST_TAGS} of ${others.length} scores by tag are shown.` : "";
    const said = decisive.length ? "These runs are not comparable, so nothing is subtracted."
      : apart.size ? "These runs are not comparable in all metrics." : "These runs are comparable.";
    status.textContent = said + more;
  }

  async function show() {
    const chosen = [first, second].map((select) => byId.get(select.value));
    history.replaceState(null, "", `#${new URLSearchParams(new FormData(form))}`);
    if (chosen[0] === chosen[1]) {
      target.replaceChildren();
      status.textContent = "Choose two different runs.";
      return;
    }
    try {
      const scores = await Promise.all(chosen.map(load));
      // the reader may have chosen others meanwhile
      if (first.value === chosen[0].id && second.value === chosen[1].id) compare(chosen, scores);
    } catch (error) {
      target.replaceChildren();
      status.textContent = error.message;
    }
  }

  const asked = new URLSearchParams(location.hash.slice(1));
  const [one, other] = [asked.get("first"), asked.get("second")];
  const names = [...new Set(site.runs.map((run) => run.dataset))].sort();
  offer(dataset, names.map((name) => [name, name]), byId.get(one)?.dataset ?? asked.get("dataset"));
  offerRuns(one, other ?? undefined);
  dataset.addEventListener("change", () => { offerRuns(); show(); });
  for (const select of [first, second]) select.addEventListener("change", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
})();
