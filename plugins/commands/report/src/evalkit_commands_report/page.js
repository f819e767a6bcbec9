"use strict";
// Sorts, filters and pages the tables of tags. All numbers are in the page.
(() => {
  const PAGE = 25;
  const held = document.getElementById("evalkit-data");
  if (!held) return;
  const data = JSON.parse(held.textContent);

  const cell = (row, name, place = 0) => row.querySelectorAll(`td.${name}`)[place];

  function number(text, value, field, run, metric, tag) {
    const shown = document.createElement("data");
    shown.textContent = text;
    shown.setAttribute("value", value === null ? "" : String(value));
    const about = { run, metric, field };
    if (tag !== null) about.tag = tag;
    Object.assign(shown.dataset, about);
    return shown;
  }

  function drawLine(line, scale, columns, at, reference) {
    const place = (value) =>
      `${(100 * (value - scale.low)) / (scale.high - scale.low)}%`;
    const middle = line.querySelector(".reference");
    if (middle && reference !== null) {
      middle.setAttribute("x1", place(reference));
      middle.setAttribute("x2", place(reference));
    }
    const grids = [...line.querySelectorAll(".grid")];
    scale.ticks.forEach(([value], number) => {
      const grid = grids[number] ?? line.insertBefore(grids[0].cloneNode(), grids[0]);
      grid.setAttribute("x1", place(value));
      grid.setAttribute("x2", place(value));
    });
    grids.slice(scale.ticks.length).forEach((grid) => grid.remove());
    const value = columns.value[at];
    const [least, greatest] = columns.limits;
    const [low, high] = [columns.low[at], columns.high[at]];
    const left = Math.max(low ?? -Infinity, least ?? -Infinity);
    const right = Math.min(high ?? Infinity, greatest ?? Infinity);
    const hasInterval = (low !== null || high !== null) && isFinite(right - left);
    const mark = line.querySelector(".mark");
    if (value === null) mark.setAttribute("display", "none");
    else {
      mark.removeAttribute("display");
      mark.setAttribute("x", place(value));
    }
    const interval = line.querySelector(".interval");
    if (!hasInterval) interval.setAttribute("display", "none");
    else {
      interval.removeAttribute("display");
      const [whisker, leftCap, rightCap] = interval.children;
      whisker.setAttribute("x1", place(left));
      whisker.setAttribute("x2", place(right));
      for (const [cap, end] of [[leftCap, left], [rightCap, right]]) {
        cap.setAttribute("x1", place(end));
        cap.setAttribute("x2", place(end));
      }
    }
  }

  function fillRow(row, run, scale, columns, at, metric, tag, reference) {
    const put = (text, value, field) =>
      number(text, value, field, run.id, metric, tag);
    const n = columns.n[at];
    const size = n === null ? columns.text[at] : columns.sizes[at] ?? String(n);
    cell(row, "n").replaceChildren(put(size, n, "n"));
    drawLine(row.querySelector("svg.line"), scale, columns, at, reference);
    cell(row, "n", 1).replaceChildren(put(columns.text[at], columns.value[at], "value"));
    const interval = columns.interval[at];
    const parts = interval.slice(1, -1).split(", ");
    const box = cell(row, "ci");
    if (columns.low[at] === null || parts.length !== 2) {
      box.replaceChildren(interval);
      if (columns.reason[at]) {
        const why = document.createElement("small");
        why.textContent = columns.reason[at];
        box.append(why);
      }
    } else {
      box.replaceChildren(
        "[", put(parts[0], columns.low[at], "ci_low"), ", ",
        put(parts[1], columns.high[at], "ci_high"), "]");
    }
  }

  function start(section) {
    const group = data[section.dataset.tags];
    const table = section.querySelector("table");
    const template = section.querySelector("template").content.firstElementChild;
    const role = (name) => section.querySelector(`[data-role="${name}"]`);
    const state = { sort: "value", down: false, page: 0, size: PAGE };
    let order = [];

    const chosen = () => {
      const metric = role("metric").value;
      return { metric, scale: group.metrics[metric], run: Number(role("run")?.value ?? 0) };
    };

    function sizeOf(scale, tag) {
      let largest = 0;
      for (const columns of scale.scores) largest = Math.max(largest, columns.n[tag] ?? 0);
      return largest;
    }

    function arrange() {
      const { scale, run } = chosen();
      const facet = role("facet").value;
      const text = role("text").value.toLocaleLowerCase();
      const least = Number(role("least").value) || 0;
      order = scale.tags.map((_, tag) => tag).filter((tag) =>
        (facet === "" || scale.facet_of[tag] === Number(facet)) &&
        (!text || scale.tags[tag].toLocaleLowerCase().includes(text)) &&
        sizeOf(scale, tag) >= least);
      const values = scale.scores[run].value;
      const worst = scale.ascending ? 1 : -1;
      const keys = {
        tag: (a, b) => (scale.tags[a] < scale.tags[b] ? -1 : 1),
        n: (a, b) => sizeOf(scale, a) - sizeOf(scale, b),
        value: (a, b) => worst * (values[a] - values[b]),
      };
      const turned = state.down ? -1 : 1;
      order.sort((a, b) => {
        if (state.sort === "value" && (values[a] === null || values[b] === null))
          return (values[a] === null) - (values[b] === null) || a - b;
        return turned * keys[state.sort](a, b) || keys.tag(a, b);
      });
    }

    function show() {
      const { metric, scale } = chosen();
      const pages = Math.max(1, Math.ceil(order.length / state.size));
      state.page = Math.min(Math.max(0, state.page), pages - 1);
      const first = state.page * state.size;
      const shown = order.slice(first, first + state.size);
      const [, whole, ...old] = [...table.children];
      old.forEach((body) => body.remove());
      fill(whole, metric, scale, scale.whole, 0, null);
      table.append(...shown.map((tag) => {
        const body = template.cloneNode(true);
        body.querySelector("th").textContent = scale.shown_tags[tag];
        fill(body, metric, scale, scale.scores, tag, scale.tags[tag]);
        return body;
      }));
      const range = shown.length ? `${first + 1} to ${first + shown.length} of ` : "";
      const hidden = scale.tags.length - order.length;
      role("status").textContent =
        `${metric}: ${range}${order.length} ${order.length === 1 ? "tag" : "tags"}` +
        (hidden ? `; ${hidden} hidden by the choices above` : "");
      role("page").textContent = `Page ${state.page + 1} of ${pages}`;
      role("previous").disabled = state.page === 0;
      role("next").disabled = state.page === pages - 1;
      role("page").parentElement.hidden = pages === 1;
      drawHead(metric, scale);
    }

    function fill(body, metric, scale, scores, at, tag) {
      [...body.rows].forEach((row, run) => fillRow(
        row, group.runs[run], scale, scores[run], at, metric, tag,
        scale.whole[run].value[0]));
    }

    function drawHead(metric, scale) {
      for (const button of table.tHead.querySelectorAll("button")) {
        const key = button.dataset.sort;
        if (key === "value") button.textContent = metric;
        const up = key === "value" && !scale.ascending ? state.down : !state.down;
        button.parentElement.setAttribute("aria-sort",
          key !== state.sort ? "none" : up ? "ascending" : "descending");
      }
      const axis = table.tHead.querySelector("svg.axis");
      const label = axis.querySelector("text");
      axis.replaceChildren(...scale.ticks.map(([value, text]) => {
        const tick = label.cloneNode();
        tick.setAttribute("x",
          `${(100 * (value - scale.low)) / (scale.high - scale.low)}%`);
        tick.textContent = text;
        return tick;
      }));
    }

    function offerFacets() {
      const { scale } = chosen();
      const select = role("facet");
      const all = select.options[0];
      select.replaceChildren(all, ...scale.facets.map((name, number) =>
        new Option(name || "(no facet)", String(number))));
    }

    const renew = () => { state.page = 0; arrange(); show(); };
    table.tHead.addEventListener("click", (event) => {
      const key = event.target.closest("button")?.dataset.sort;
      if (!key) return;
      state.down = key === state.sort ? !state.down : key === "n";
      state.sort = key;
      renew();
    });
    role("metric").addEventListener("change", () => { offerFacets(); renew(); });
    for (const name of ["run", "facet"]) role(name)?.addEventListener("change", renew);
    for (const name of ["text", "least"]) role(name).addEventListener("input", renew);
    section.querySelector("form").addEventListener("submit", (e) => e.preventDefault());
    role("previous").addEventListener("click", () => { state.page -= 1; show(); });
    role("next").addEventListener("click", () => { state.page += 1; show(); });
    section.querySelector("form").hidden = false;
    offerFacets();
    renew();
  }

  for (const section of document.querySelectorAll("[data-tags]")) start(section);
})();
