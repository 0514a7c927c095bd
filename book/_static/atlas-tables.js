// Tables of the pages: sort, filter, choose columns, and an address for each row. Without it they are plain tables.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const FEW_ROWS = 12;
  const MOST_COLUMNS = 8;
  const make = (tag, options = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), options);
    element.append(...children);
    return element;
  };
  const slug = (text) =>
    text.normalize("NFKD").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 40) || "row";
  const taken = new Set([...document.querySelectorAll("[id]")].map((element) => element.id));
  const unused = (name) => {
    let found = name;
    for (let n = 2; taken.has(found); n += 1) found = `${name}-${n}`;
    taken.add(found);
    return found;
  };
  // What a cell is sorted by: its first number where the column holds numbers; an en dash comes last.
  const number = (text) => {
    const found = text.replace(/,(?=\d{3})/g, "").replace("−", "-").match(/-?\d+(\.\d+)?/);
    return found ? Number(found[0]) : Infinity;
  };
  // What stays on one line: an interval, a number with its percent sign, "< 0.001".
  const UNBROKEN = /(\([−-]?[\d.,]+(?:–| to )[−-]?[\d.,]+\)|[\d.,]+ %|[<≤>] [\d.]+)/;
  const keep_together = (cell) => {
    for (const node of [...cell.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE)) {
      const parts = node.data.split(UNBROKEN); // every second part is one that was found
      if (parts.length === 1) continue;
      const kept = (text) => make("span", { className: "atlas-unbroken", textContent: text });
      node.replaceWith(...parts.map((text, place) => (place % 2 ? kept(text) : text)));
    }
  };
  // Where the longest words leave no room for all columns, the table takes the room of its lines.
  const widths = new Map();
  const give_room = new ResizeObserver((entries) => {
    for (const { target: box } of entries) {
      if (!box.clientWidth || widths.get(box) === box.clientWidth) continue;
      widths.set(box, box.clientWidth);
      const table = box.querySelector("table");
      table.classList.remove("atlas-scrolls");
      table.classList.toggle("atlas-scrolls", box.scrollWidth > box.clientWidth + 1);
    }
  });
  const collator = new Intl.Collator(undefined, { numeric: true });

  for (const figure of document.querySelectorAll("figure.atlas-table")) {
    const table = figure.querySelector("table");
    const caption = figure.querySelector("figcaption");
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies[0].rows].filter((row) => row.cells.length === heads.length);
    figure.id ||= unused(`table-${slug((caption.querySelector("b") || caption).textContent)}`);

    const status = make("span", { className: "atlas-count" });
    status.setAttribute("role", "status");
    const tools = make("div", { className: "atlas-tools" });

    heads.forEach((head, place) => {
      if (rows.length < 2) return;
      const button = make("button", { type: "button", className: "atlas-sort" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const numeric = head.classList.contains("number");
        const keyed = rows.map((row) => {
          const text = row.cells[place].textContent.trim();
          return { row, text, value: number(text) };
        });
        const digits = keyed.every(({ text }) => /^[<>≤≥−+-]?\s*\d/.test(text) || text === "–" || text === "");
        keyed.sort((a, b) => {
          if (!numeric && !digits) return (down ? -1 : 1) * collator.compare(a.text, b.text);
          if (a.value === Infinity || b.value === Infinity) return (a.value === Infinity) - (b.value === Infinity);
          return (down ? -1 : 1) * (a.value - b.value);
        });
        table.tBodies[0].append(...keyed.map(({ row }) => row));
      });
    });

    if (rows.length > FEW_ROWS) {
      const field = make("input", { type: "search" });
      field.addEventListener("input", () => {
        const wanted = field.value.trim().toLowerCase();
        rows.forEach((row) => (row.hidden = !row.textContent.toLowerCase().includes(wanted)));
        const left = rows.filter((row) => !row.hidden).length;
        status.textContent = wanted ? `${left.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows` : "";
      });
      tools.append(make("label", {}, "Filter rows ", field), status);
    }

    if (heads.length > MOST_COLUMNS) {
      const box = make("details", {}, make("summary", { textContent: `Columns (${MOST_COLUMNS} of ${heads.length} shown)` }));
      const show = (place, shown) => [heads, ...rows.map((row) => row.cells)].forEach((cells) => (cells[place].hidden = !shown));
      heads.forEach((head, place) => {
        if (place === 0) return;
        const tick = make("input", { type: "checkbox", checked: place < MOST_COLUMNS });
        show(place, tick.checked);
        tick.addEventListener("change", () => {
          show(place, tick.checked);
          const left = heads.filter((one) => !one.hidden).length;
          box.querySelector("summary").textContent = `Columns (${left} of ${heads.length} shown)`;
        });
        box.append(make("label", {}, tick, ` ${head.textContent}`));
      });
      tools.append(box);
    }
    if (tools.children.length) caption.after(tools);

    for (const row of rows) {
      row.id = unused(`${figure.id.replace(/^table-(?=[a-z])/, "")}-${slug(row.cells[0].textContent)}`);
      const link = make("a", { href: `#${row.id}`, className: "atlas-row-link", tabIndex: -1 });
      link.setAttribute("aria-label", "Link to this row");
      row.cells[0].append(link);
    }
    rows.forEach((row) => [...row.cells].forEach(keep_together));
    const box = figure.querySelector(".atlas-scroll");
    if (box) give_room.observe(box);

    const links = figure.querySelector(".atlas-links");
    if (links && document.getElementById("about-this-page")) {
      links.append(make("a", { href: "#about-this-page", textContent: "Code, parameters and sources" }));
    }
  }
  // Tables of prose: who has no mouse scrolls them, too.
  for (const box of document.querySelectorAll(".pst-scrollable-table-container")) {
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Table");
  }
  // Rows get their addresses only now.
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) {
    for (let place = target; place; place = place.parentElement) if (place.tagName === "DETAILS") place.open = true;
    target.scrollIntoView({ block: "center" });
    if (target.tagName === "TR") target.classList.add("atlas-target");
  }
});
