// Charts that one explores: pointer, arrow keys, links. A figure brings its chart as JSON (babelatlas.report.figures.chart);
// Observable Plot draws it in place of the picture, which stays without JavaScript and in print. Names are only set as text.
"use strict";
document.addEventListener("DOMContentLoaded", async () => {
  const sources = [...document.querySelectorAll("script.atlas-chart")];
  if (!sources.length) return;

  const load = (address) =>
    new Promise((resolve, reject) => {
      const script = Object.assign(document.createElement("script"), { src: address, onload: resolve, onerror: reject });
      document.head.append(script);
    });
  try {
    if (!window.d3) await load("_files/vendor/d3/d3.min.js");
    if (!window.Plot) await load("_files/vendor/plot/plot.umd.min.js");
  } catch {
    return; // the pictures stay
  }

  const ROW = 26; // pixels of a row
  const LETTER = 6.4; // and of a letter
  const LABEL_APART = 15;
  const MAP_STRETCH = 1.25; // of a degree of latitude, as in the static maps
  const LIGHTER = { "#0072B2": "#56AEE8", "#4D4D4D": "#C4C4C4", "#009E73": "#2CC99B", "#D55E00": "#F58A3C" };
  const down = { draw: (context, size) => polygon(context, [[0, 1], [-0.87, -0.5], [0.87, -0.5]], 0.88 * Math.sqrt(size)) };
  const SHAPES = {
    o: d3.symbolCircle, s: d3.symbolSquare, "^": d3.symbolTriangle, D: d3.symbolDiamond, v: down, P: d3.symbolCross,
    X: d3.symbolStar,
  };
  // Links lead only to pages that this book has: these list them.
  const LISTS = { "language-": "languages.html", "explorer.html": "explorer.html" };

  function polygon(context, corners, size) {
    corners.forEach(([x, y], place) => context[place ? "lineTo" : "moveTo"](size * x, size * y));
    context.closePath();
  }

  function make(tag, options = {}, ...children) {
    const element = Object.assign(document.createElement(tag), options);
    element.append(...children);
    return element;
  }

  const isDark = () => document.documentElement.dataset.theme === "dark";
  const colour = (series) => (isDark() && LIGHTER[series.colour]) || series.colour;
  const percent = (value) => `${+(100 * value).toFixed(1)}%`;

  function linked(address) {
    const start = Object.keys(LISTS).find((name) => address?.startsWith(name));
    return start && document.querySelector(`a[href*="${LISTS[start]}"]`) ? address : "";
  }

  function axis(of, more = {}) {
    const scale = of.scale === "time" ? { type: "utc" } : { type: of.scale };
    const format = of.percent ? { tickFormat: percent } : {};
    return { label: of.label || null, labelArrow: "none", labelAnchor: "center", grid: true, ...scale, ...format, ...more };
  }

  // The marks of each kind. `points`: of one panel; each gets the place where the pointer finds it.

  function rows(spec, points, width) {
    const names = spec.rows.filter((name) => points.some((point) => point.y === name));
    const perRow = d3.max(d3.rollups(points, (of) => of.length, (point) => point.y), ([, count]) => count);
    const left = Math.min(LETTER * d3.max(names, (name) => name.length) + 20, 0.44 * width);
    const apart = perRow > 1 ? 7 : 0;
    const lines = Math.max(1, Math.floor((left - 14) / LETTER / 0.95)); // letters of a line
    const tallest = Math.ceil(d3.max(names, (name) => name.length) / Math.max(1, lines - 3));
    const height = Math.max(ROW + (perRow > 1 ? 8 : 0), 14 * tallest + 6);
    const shift = (place) => apart * (place - (spec.series.length - 1) / 2);
    const all = spec.points.flatMap((point) => [point.x, point.low, point.high, point.before]).filter(Number.isFinite);
    const marks = spec.series.flatMap((series, place) => {
      const own = points.filter((point) => (point.series ?? "") === series.name);
      const at = { y: "y", dy: shift(place) };
      return [
        Plot.ruleY(own, { ...at, x1: "low", x2: "high", stroke: colour(series), strokeWidth: 2.2 }),
        Plot.dot(own.filter((point) => "before" in point), { ...at, x: "before", r: 4, stroke: colour(series), fill: "var(--pst-color-background)" }),
        Plot.dot(own, { ...at, x: "x", r: 4.5, symbol: SHAPES[series.marker], fill: colour(series) }),
      ];
    });
    return {
      marginLeft: left, marginTop: 40, marginRight: 14, marginBottom: 8, height: 48 + height * names.length,
      x: axis(spec.x, { axis: "top", domain: d3.extent([...all, ...(spec.reference === null ? [] : [spec.reference])]), nice: true, inset: 6 }),
      y: { type: "point", domain: names, axis: null, padding: 0.6 },
      marks: [
        Plot.axisY({ tickSize: 0, lineWidth: lines * 0.54, label: null, fontSize: 12 }),
        Plot.gridY({ strokeOpacity: 0.08 }),
        ...(spec.reference === null ? [] : [Plot.ruleX([spec.reference], { strokeDasharray: "5 4", strokeOpacity: 0.7 })]),
        ...marks,
        Plot.tip(points, Plot.pointerY({ x: "x", y: "y", title: "text", maxRadius: 60 })),
      ],
    };
  }

  function cloud(spec, points) {
    const band = spec.band.length
      ? [
          Plot.areaY(spec.band, { x: "x", y1: "low", y2: "high", fillOpacity: 0.15 }),
          Plot.line(spec.band, { x: "x", y: "y", strokeWidth: 1.5 }),
        ]
      : [];
    const front = d3.sort(points.filter((point) => "front" in point), (point) => point.x);
    const joined = [
      Plot.line(front, { x: "x", y: "y", curve: "step-after", strokeDasharray: "5 4", strokeWidth: 1.4 }),
      Plot.dot(front, { x: "x", y: "y", r: 7, stroke: "currentColor" }),
    ];
    const dots = spec.series.map((series) =>
      Plot.dot(points.filter((point) => (point.series ?? "") === series.name), {
        x: "x", y: "y", r: 3.6, symbol: SHAPES[series.marker], fill: colour(series), fillOpacity: 0.85,
      }),
    );
    return {
      marginLeft: 60, marginBottom: 44, height: 420, x: axis(spec.x, { nice: spec.x.scale !== "log", ...(spec.x.scale === "log" ? { ticks: 4, tickFormat: "," } : {}) }),
      y: axis(spec.y, { nice: true, zero: spec.x.scale === "log" }),
      marks: [...band, ...joined, ...dots, Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: "text" }))],
    };
  }

  function steps(spec, points, width) {
    const height = 300;
    const [top, bottom] = [12, 34];
    const dated = points.map((point) => ({ ...point, x: new Date(point.x) }));
    const end = d3.max(dated, (point) => point.x);
    const all = spec.points.flatMap((point) => [point.y, point.low, point.high, 0]).filter(Number.isFinite);
    const domain = d3.extent(all);
    const pixel = d3.scaleLinear(domain, [height - bottom, top]);
    const lines = spec.series
      .map((series) => ({ series, own: dated.filter((point) => point.series === series.name) }))
      .filter(({ own }) => own.length)
      .map(({ series, own }) => ({ series, own: [...own, { ...own.at(-1), x: end }] }));
    const longest = d3.max(lines, ({ series }) => series.name.length);
    let height_before = Infinity;
    const labels = d3.sort(lines, ({ own }) => own.at(-1).y).map(({ series, own }) => {
      const place = Math.min(pixel(own.at(-1).y), height_before - LABEL_APART);
      height_before = place;
      const text = `${series.name} ${spec.y.percent ? (100 * own.at(-1).y).toFixed(0) : own.at(-1).y}`;
      return Plot.text([own.at(-1)], {
        x: "x", y: "y", dx: 8, dy: place - pixel(own.at(-1).y), text: () => text, textAnchor: "start", fill: colour(series), fontSize: 12,
      });
    });
    const marks = lines.flatMap(({ series, own }) => [
      Plot.areaY(own.filter((point) => "low" in point), { x: "x", y1: "low", y2: "high", curve: "step-after", fill: colour(series), fillOpacity: 0.15 }),
      Plot.line(own, { x: "x", y: "y", curve: "step-after", stroke: colour(series), strokeWidth: 2, strokeDasharray: series.dash }),
      Plot.dot(own.slice(0, -1), { x: "x", y: "y", r: 3, symbol: SHAPES[series.marker], fill: colour(series) }),
    ]);
    return {
      marginLeft: 60, marginTop: top, marginBottom: bottom, marginRight: Math.min(LETTER * (longest + 4) + 12, 0.45 * width), height,
      x: { type: "utc", label: null, ticks: width < 500 ? 3 : "year", tickFormat: "%Y" }, y: axis(spec.y, { domain }),
      marks: [...marks, ...labels, Plot.tip(dated, Plot.pointer({ x: "x", y: "y", title: "text" }))],
    };
  }

  function map(spec, points, width) {
    const [west, south, east, north] = spec.edges;
    const land = (index, { x, y }) => {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const rings = spec.land.map((ring) => `M${ring.map(([across, up]) => [x(across), y(up)].map(Math.round)).join("L")}Z`);
      path.setAttribute("d", rings.join(""));
      path.setAttribute("fill", "currentColor");
      path.setAttribute("fill-opacity", isDark() ? 0.16 : 0.1);
      return path;
    };
    const dots = spec.series.map((series) =>
      Plot.dot(points.filter((point) => (point.series ?? "") === series.name), {
        x: "x", y: "y", r: width < 500 ? 3.2 : 4.4, symbol: SHAPES[series.marker], fill: colour(series), stroke: "var(--pst-color-background)", strokeWidth: 0.7,
      }),
    );
    return {
      margin: 0, height: (width * MAP_STRETCH * (north - south)) / (east - west), clip: true,
      x: { domain: [west, east], axis: null }, y: { domain: [south, north], axis: null },
      marks: [land, ...dots, Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: "text" }))],
    };
  }

  const KINDS = { rows, points: cloud, steps, map };

  function legend(spec) {
    const list = make("ul", { className: "atlas-legend" });
    for (const series of spec.series) {
      const shape = d3.create("svg").attr("width", 14).attr("height", 14).attr("viewBox", "-7 -7 14 14").attr("aria-hidden", "true");
      shape.append("path").attr("d", d3.symbol(SHAPES[series.marker], 64)()).attr("fill", colour(series));
      list.append(make("li", {}, shape.node(), series.name));
    }
    return list;
  }

  function place(source) {
    const spec = JSON.parse(source.textContent);
    const figure = source.closest("figure");
    const picture = figure.querySelector("img");
    const status = make("p", { className: "atlas-status" });
    status.setAttribute("role", "status");
    const drawn = make("div", { className: "atlas-drawn", tabIndex: 0 });
    drawn.setAttribute("role", "group");
    drawn.setAttribute("aria-label", `${picture.alt} Chart: the arrow keys move from point to point, Enter opens a page.`);
    source.after(drawn, status);
    figure.classList.add("atlas-live");
    const reachable = []; // in the order of the arrow keys: plot and point
    let current = -1;

    function tell(point) {
      status.replaceChildren();
      if (!point) return;
      const address = linked(point.link);
      const text = point.text.replaceAll("\n", "; ");
      status.append(text, ...(address ? [" ", make("a", { href: address, textContent: "Open its page" })] : []));
    }

    function draw() {
      const width = Math.max(260, Math.min(760, drawn.clientWidth));
      reachable.length = 0;
      current = -1;
      const parts = spec.kind !== "steps" && spec.series.length > 1 ? [legend(spec)] : [];
      for (const panel of spec.panels.length ? spec.panels : [null]) {
        const points = spec.points.filter((point) => panel === null || point.panel === panel);
        if (!points.length) continue;
        const options = KINDS[spec.kind](spec, points, width);
        const plot = Plot.plot({ width, style: { background: "transparent", color: "inherit", fontSize: "12px" }, ...options });
        plot.setAttribute("aria-hidden", "true"); // the text of the picture and the status say it
        plot.addEventListener("input", () => plot.value && tell(plot.value));
        plot.addEventListener("click", (event) => {
          const address = plot.value && linked(plot.value.link);
          if (address && event.pointerType !== "touch") location.href = address;
        });
        if (panel) parts.push(make("p", { className: "atlas-panel", textContent: panel }));
        parts.push(plot);
        reachable.push(...points.map((point) => ({ plot, point })));
      }
      drawn.replaceChildren(...parts);
    }

    function point_at({ plot, point }, type) {
      const [x, y] = ["x", "y"].map((name) => plot.scale(name));
      const across = spec.x.scale === "time" ? new Date(point.x) : point.x;
      const corner = plot.getBoundingClientRect();
      const at = { clientX: corner.left + x.apply(across), clientY: corner.top + y.apply(point.y) };
      plot.dispatchEvent(new PointerEvent(type, { ...at, pointerType: "mouse", bubbles: true }));
    }

    drawn.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" && current >= 0) {
        const address = linked(reachable[current].point.link);
        if (address) location.href = address;
      }
      if (!move) return;
      event.preventDefault();
      if (current >= 0) point_at(reachable[current], "pointerleave");
      current = Math.max(0, Math.min(reachable.length - 1, current + move));
      point_at(reachable[current], "pointerenter");
      point_at(reachable[current], "pointermove");
      tell(reachable[current].point);
    });

    let before = 0;
    new ResizeObserver(() => {
      if (drawn.clientWidth && drawn.clientWidth !== before) {
        before = drawn.clientWidth;
        draw();
      }
    }).observe(drawn);
    new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  sources.forEach(place);
});
