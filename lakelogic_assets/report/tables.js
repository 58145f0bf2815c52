"use strict";
(() => {
  const valueOf = (row, index, numeric) => {
    const cell = row.cells[index];
    return numeric ? Number(cell.dataset.v ?? 0) : cell.textContent.trim().toLowerCase();
  };

  const sort = (head) => {
    const numeric = head.dataset.s === "n";
    const body = head.closest("table").tBodies[0];
    const before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : numeric;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map((row) => [valueOf(row, head.cellIndex, numeric), row]);
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  };

  for (const head of document.querySelectorAll("th[data-s]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }
})();
