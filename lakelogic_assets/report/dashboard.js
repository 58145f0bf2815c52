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

  form.hidden = products.length === 0;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  if (products.length) apply();
})();
