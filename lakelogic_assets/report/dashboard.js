"use strict";
(() => {
  const form = document.getElementById("filter");
  const filtered = [...document.querySelectorAll("tbody tr, figure")];
  const products = document.querySelectorAll("#products tbody tr");
  const text = new Map(filtered.map((node) => [node, node.textContent.toLowerCase()]));

  const matches = (node, want) => {
    const { d, l } = node.dataset;
    if (want.d && d !== undefined && d !== want.d) return false;
    if (want.l && l !== undefined && l !== want.l) return false;
    if (node.tagName === "FIGURE") return true;
    return (!want.t || text.get(node).includes(want.t)) && (!want.a || want.a.has(node.querySelector("small")?.dataset.k));
  };

  const apply = () => {
    const waiting = new Set([...document.querySelectorAll("tr[data-a] small")].map((node) => node.dataset.k));
    const want = {
      d: form.elements.d.value,
      l: form.elements.l.value,
      t: form.elements.t.value.trim().toLowerCase(),
      a: form.elements.a.checked ? waiting : null,
    };
    for (const node of filtered) node.hidden = !matches(node, want);
    const shown = [...products].filter((node) => !node.hidden).length;
    form.elements.shown.value = `${shown} of ${products.length} products`;
  };

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
  form.hidden = products.length === 0;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (products.length) apply();
})();
