"use strict";
// Sorts a table by the header that is activated.
for (const table of document.querySelectorAll("table.board, table.sortable")) {
  const [body] = table.tBodies;
  const headers = [...table.tHead.rows[0].cells];

  function sort(header, place) {
    const numbers = (row) => row.cells[place].querySelector("data");
    const isText = ![...body.rows].some(numbers);
    const best = table.querySelector(`td:nth-child(${place + 1}) data[data-best="low"]`);
    const first = isText || best ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = header.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const key = (row) => isText ? row.cells[place].textContent : numbers(row)?.value;
    const compare = (a, b) => isText ? a.localeCompare(b) : a - b;
    const rows = [...body.rows].sort((a, b) =>
      (key(a) === undefined) - (key(b) === undefined) || sign * compare(key(a), key(b)) || 0);
    headers.forEach((each) => each.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", order);
    body.append(...rows);
  }

  headers.forEach((header, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    if (!header.hasAttribute("aria-sort")) header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sort(header, place));
  });
}
