(() => {
  const box = document.querySelector("header input[type=search]");
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      box.focus();
    }
  });

  const rows = [...document.querySelectorAll("tr[data-t]")];
  const filter = document.getElementById("filter");
  if (filter && rows.length) {
    const domain = document.getElementById("d"), layer = document.getElementById("l"), shown = document.getElementById("shown");
    const apply = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const fits = (select, value) => !select.value || select.value === value;
        const found = words.every((word) => row.dataset.t.includes(word));
        row.hidden = !(found && fits(domain, row.dataset.d) && fits(layer, row.dataset.l));
      }
      const left = rows.filter((row) => !row.hidden).length;
      shown.value = `${left} of ${rows.length} contracts`;
    };
    const jump = () => document.getElementById("contracts").scrollIntoView();
    filter.hidden = false;
    box.value = new URLSearchParams(location.search).get("q") ?? "";
    box.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const left = rows.filter((row) => !row.hidden);
      if (left.length === 1) location.href = left[0].querySelector("a").href;
      else jump();
    });
    for (const node of [box, domain, layer]) node.addEventListener("input", () => { apply(); if (node === box && box.value) jump(); });
    apply();
    if (box.value) jump();
  }

  for (const graph of document.querySelectorAll(".graph")) {
    const boxes = [...graph.querySelectorAll(".box")], lines = [...graph.querySelectorAll(".line")];
    const light = (node) => {
      graph.classList.toggle("lit", Boolean(node));
      const near = new Set(node ? [node.dataset.n] : []);
      for (const line of lines) {
        const ends = line.dataset.e.split(" ");
        const on = Boolean(node) && ends.includes(node.dataset.n);
        line.classList.toggle("on", on);
        if (on) ends.forEach((end) => near.add(end));
      }
      for (const each of boxes) each.classList.toggle("on", near.has(each.dataset.n));
    };
    for (const node of boxes) {
      node.addEventListener("mouseenter", () => light(node));
      node.addEventListener("focus", () => light(node));
      node.addEventListener("mouseleave", () => light(null));
      node.addEventListener("blur", () => light(null));
    }
  }
})();
