/* The explorer: one view of all results. The address holds the state; whatever changes the state draws the view again.
   The data are made by lib/babelatlas/report/explorer.py; the table is Tabulator's, the plot Observable Plot's.
   Names come from files: they are only ever set as text, never as HTML. */
(async () => {
  "use strict";
  const form = document.getElementById("explorer");
  if (!form) return;
  const part = (name) => document.getElementById(`explorer-${name}`);
  const field = (name) => form.elements[name];
  const LISTS = ["lang", "models", "licence"], NUMBERS = ["max_params", "max_gflops"], DATES = ["since", "until"];
  const SWITCHES = ["closed", "miniature"], FILTERS = ["models", "licence", ...NUMBERS, ...DATES];
  const COLUMNS = ["language", "title", "value", "parameters_m", "gflops", "licence", "release_date", "n"];
  const PLOTS = ["intervals", "size", "gflops", "date"];
  const COST = {
    size: { column: "parameters_m", label: "million parameters", type: "log" },
    gflops: { column: "gflops", label: "GFLOPs for an image and a text", type: "log" },
    date: { column: "date", label: "release date", type: "utc" },
  };
  const NAMED = 3, DRAWN = 25, PANELS = 4; // languages with a sentence; models of the plot; languages of the plot
  const UNSTATED = "not stated";

  if (!window.ATLAS) {
    part("note").textContent = "This book has no data for the explorer: the run that made it left out the chapter 71_languages.";
    return;
  }
  const data = await unpack(window.ATLAS);
  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const languages = new Map(data.languages.map((one, place) => [one.code, { ...one, place }]));
  const codes = new Map(); // any spelling of a code -> code; a code of ours goes before an alias
  for (const one of data.languages) for (const alias of one.aliases) if (!codes.has(alias)) codes.set(alias, one.code);
  for (const one of data.languages) codes.set(one.code.toLowerCase(), one.code);
  const models = new Map(data.models.map((one) => [one.model, one]));
  const boards = new Map(data.boards.map((one) => [one.id, one]));
  const tasks = new Map(data.boards.map((one) => [slug(one.task), one.task]));
  const licences = [...new Set(data.models.map(licenceOf))].sort((a, b) => a.localeCompare(b));
  const rows = data.rows.n.map((n, i) => record(i, n));
  const real = new Set(rows.filter((row) => !row.miniature).map((row) => row.code));

  let state = {}, shown = [], chosen = null, table = null, ready = null;
  build();
  await ready;
  read();
  window.addEventListener("hashchange", () => { if (location.hash !== hash()) read(); });
  window.addEventListener("resize", later(draw, 200));

  /* Data */

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  function licenceOf(model) {
    return model.weights === "closed" ? "closed weights" : model.licence || UNSTATED;
  }

  function record(i, n) {
    const of = (name) => data.rows[name][i];
    const model = data.models[of("model")], language = data.languages[of("lang")];
    return {
      ...model, licence: licenceOf(model), board: data.boards[of("board")], code: language.code, language: language.name,
      value: of("value"), ci_low: of("ci_low"), ci_high: of("ci_high"), guess: of("guess"), n: n || null,
      address: data.addresses[of("address")],
    };
  }

  /* State and address */

  function fallback() {
    const asked = (navigator.languages || []).map((tag) => codes.get(tag.toLowerCase()) || codes.get(tag.slice(0, 2)));
    return asked.find((code) => real.has(code)) || "en";
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1)), notes = [];
    state = { lang: [], models: [], licence: [], task: "", benchmark: "", plot: "intervals", sort: "-value" };
    for (const name of [...NUMBERS, ...DATES]) state[name] = "";
    for (const [name, value] of given) {
      if (name === "lang") for (const word of value.split(",").filter(Boolean)) {
        const code = word === "all" ? "all" : codes.get(word.trim().toLowerCase().replaceAll("_", "-"));
        if (code) state.lang.push(code);
        else notes.push(`No language with a result here has the code “${word}”.`);
      } else if (name === "models") take(name, value, models, "model", notes);
      else if (name === "licence") take(name, value, new Set(licences), "licence", notes);
      else if (name === "task") pick(name, value, tasks, "task", notes);
      else if (name === "benchmark") pick(name, value, boards, "benchmark", notes);
      else if (name === "plot") pick(name, value, new Set(PLOTS), "plot", notes);
      else if (name === "sort") pick(name, value, new Set(COLUMNS.flatMap((one) => [one, `-${one}`])), "column to sort by", notes);
      else if (SWITCHES.includes(name)) state[name] = value === "1";
      else if (NUMBERS.includes(name) || DATES.includes(name)) {
        if (valid(name, value)) state[name] = value;
        else notes.push(`${name} is “${value}” in the address; expected ${NUMBERS.includes(name) ? "a number, such as 500" : "a date, such as 2023 or 2023-06"}.`);
      } else notes.push(`The explorer knows no “${name}”.`);
    }
    state.lang = state.lang.includes("all") ? ["all"] : [...new Set(state.lang)];
    if (!state.lang.length) {
      state.lang = [fallback()];
      if (given.get("lang")) notes.push(`${languages.get(state.lang[0]).name} is shown.`);
    }
    // A language or a benchmark that only the miniature has, named in the address, asks for it.
    if (state.lang.every((code) => code !== "all" && !real.has(code)) || boards.get(state.benchmark)?.origin === "run") state.miniature = true;
    update(notes);
  }

  function take(name, value, known, what, notes) {
    for (const word of value.split(",").filter(Boolean)) {
      if (!known.has(word)) notes.push(`There is no ${what} “${word}” here.`);
      else if (!state[name].includes(word)) state[name].push(word);
    }
  }

  function pick(name, value, known, what, notes) {
    if (known.has(value)) state[name] = value;
    else if (value) notes.push(`There is no ${what} “${value}” here.`);
  }

  function valid(name, value) {
    return NUMBERS.includes(name) ? value.trim() !== "" && Number(value) >= 0 : /^\d{4}(-\d\d){0,2}$/.test(value);
  }

  function hash() {
    const words = [];
    for (const name of [...LISTS, "task", "benchmark", ...NUMBERS, ...DATES, ...SWITCHES, "plot", "sort"]) {
      const value = LISTS.includes(name) ? state[name].map(encodeURIComponent).join(",") : state[name];
      const standard = { plot: "intervals", sort: "-value" }[name];
      if (value && value !== standard) words.push(`${name}=${value === true ? 1 : LISTS.includes(name) ? value : encodeURIComponent(value)}`);
    }
    return `#${words.join("&")}`;
  }

  /* The view */

  function update(notes = []) {
    const all = state.lang[0] === "all", wanted = new Set(state.lang);
    const inReach = rows.filter((row) => (all || wanted.has(row.code)) && (state.miniature || !row.miniature));
    const open = inReach.filter((row) => (state.closed || row.weights !== "closed"));
    const there = data.boards.filter((board) => inReach.some((row) => row.board === board));
    if (state.task && !there.some((board) => slug(board.task) === state.task)) {
      notes.push(`No result of the task “${tasks.get(state.task)}” in ${named()}; another task is shown.`);
      state.task = "";
    }
    const offered = there.filter((board) => !state.task || slug(board.task) === state.task);
    chosen = offered.find((board) => board.id === state.benchmark);
    if (!chosen && state.benchmark) {
      notes.push(`No result of the benchmark “${boards.get(state.benchmark).title}” in ${named()}${state.task ? " for this task" : ""}; another one is shown.`);
      state.benchmark = "";
    }
    chosen ||= offered[0];
    const ofBoard = open.filter((row) => row.board === chosen);
    const gone = all ? [] : state.lang.filter((code) => !ofBoard.some((row) => row.code === code));
    if (chosen && gone.length) notes.push(`No result of this benchmark in ${gone.map((code) => languages.get(code).name).join(", ")}.`);
    const kept = ofBoard.map((row) => [row, judge(row)]);
    shown = kept.filter(([, told]) => told === "in").map(([row]) => row);
    const unknown = new Set(kept.filter(([, told]) => told === "unknown").map(([row]) => row.model)).size;
    controls(there, offered);
    part("note").textContent = notes.join(" ");
    verdict(ofBoard.length);
    const results = `${count(shown.length, "result")} of ${count(new Set(shown.map((row) => row.model)).size, "model")}`;
    part("count").textContent = `${results}${all || state.lang.length > 1 ? ` in ${count(new Set(shown.map((row) => row.code)).size, "language")}` : ""}.`
      + (unknown ? ` Left out: ${count(unknown, "model")} for which nobody states what is filtered.` : "");
    tabulate();
    draw();
    history.replaceState(null, "", hash());
  }

  function judge(row) {
    if (state.models.length && !state.models.includes(row.model)) return "out";
    if (state.licence.length && !state.licence.includes(row.licence)) return row.licence === UNSTATED ? "unknown" : "out";
    let told = "in";
    for (const [name, column] of [["max_params", "parameters_m"], ["max_gflops", "gflops"]]) {
      if (state[name] === "") continue;
      if (row[column] === null) told = "unknown";
      else if (row[column] > Number(state[name])) return "out";
    }
    for (const name of DATES) {
      if (state[name] === "") continue;
      const length = Math.min(state[name].length, row.release_date.length), [own, end] = [row.release_date, state[name]].map((date) => date.slice(0, length));
      if (!row.release_date) told = "unknown"; // a date without a month counts for its whole year
      else if (name === "since" ? own < end : own > end) return "out";
    }
    return told;
  }

  function named() {
    return state.lang[0] === "all" ? "any language" : state.lang.map((code) => languages.get(code).name).join(" or ");
  }

  function count(number, word) {
    return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  }

  function told(row) {
    const share = !["correlation", "CIDEr"].includes(row.board.measure), digits = share ? 1 : 2;
    const text = (value) => (value * (share ? 100 : 1)).toFixed(digits).replace(/^-(0\.0+)$/, "$1");
    return `${text(row.value)}${share ? " %" : ""}${row.ci_low === null ? "" : ` (${text(row.ci_low)}–${text(row.ci_high)})`}`;
  }

  function size(millions) {
    return millions >= 1000 ? `${(millions / 1000).toFixed(1)} billion parameters` : `${Number(millions.toPrecision(3))} million parameters`;
  }

  function ranked() { // the rows of each language, the best first; languages in the order of the state
    const lists = d3.groups(shown, (row) => row.code).sort(([a], [b]) => state.lang.indexOf(a) - state.lang.indexOf(b));
    return lists.map(([, list]) => list.sort((a, b) => b.value - a.value || a.title.localeCompare(b.title)));
  }

  function verdict(before) {
    const lists = ranked(), say = (...nodes) => part("verdict").append(element("p", {}, ...nodes));
    part("verdict").replaceChildren();
    if (!lists.length && before) say("No model matches the filters: remove one, or choose another benchmark.");
    else if (!lists.length) say(`There is no result in ${named()} to show.`);
    else if (lists.length <= NAMED) for (const list of lists) say(...sentence(list));
    else {
      const [title, most] = d3.greatest(d3.rollups(lists, (won) => won.length, (list) => list[0].title), (pair) => pair[1]);
      say(`${title} has the highest ${chosen.measure} in ${most} of ${lists.length} languages: a count, without a test.`);
    }
  }

  function sentence(list) {
    const [best] = list, ties = list.filter((row) => row.value === best.value), others = list.slice(ties.length);
    const facts = [best.parameters_m === null ? "" : size(best.parameters_m), best.licence === UNSTATED ? "licence not stated" : best.licence,
      best.release_date.slice(0, 4)].filter(Boolean).join(", ");
    const matching = FILTERS.some((name) => state[name].length) ? " that match the filters" : "";
    const words = [element("strong", {}, `${best.language}.`), " "];
    if (list.length === 1) words.push(`One model${matching ? " matches the filters" : " was evaluated"}, ${best.title} (${facts}): its ${chosen.measure} is ${told(best)}.`);
    else if (ties.length > 1) words.push(`${join(ties)} share the highest ${chosen.measure} of ${list.length} models${matching}: ${told(best)}.`);
    else words.push(`Of ${list.length} models${matching}, ${best.title} (${facts}) has the highest ${chosen.measure}: ${told(best)}.`);
    if (best.ci_low !== null && others.length) {
      const near = others.filter((row) => row.ci_high !== null && row.ci_high >= best.ci_low);
      words.push(near.length ? ` The interval${near.length === 1 ? "" : "s"} of ${join(near)} overlap${near.length === 1 ? "s" : ""} with it; overlap is no test.` : " No other interval overlaps with it.");
    } else if (others.length) words.push(" No interval is known for it.");
    if (best.guess !== null && best.ci_low !== null && best.ci_low <= best.guess) words.push(` Its interval includes what guessing scores (${(100 * best.guess).toFixed(1)} %).`);
    words.push(" More: ", element("a", { href: `language-${best.code}.html` }, `the page on ${best.language}`), ".");
    return words;
  }

  function join(list) {
    const names = list.slice(0, list.length > 4 ? 3 : 4).map((row) => row.title), rest = list.length - names.length;
    const last = rest ? count(rest, "other model") : names.pop();
    return names.length ? `${names.join(", ")} and ${last}` : last;
  }

  function element(name, attributes, ...content) {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...content);
    return made;
  }

  /* Controls */

  function options(select, pairs, value) {
    select.replaceChildren(...pairs.map(([key, text]) => element("option", { value: key }, text)));
    select.value = value;
  }

  function controls(there, offered) {
    const usable = data.languages.filter((one) => state.miniature || real.has(one.code)).sort((a, b) => a.name.localeCompare(b.name));
    const pairs = usable.map((one) => [one.code, `${one.name} (${one.code})`]);
    options(field("lang"), [["all", "all languages"], ...pairs], state.lang[0]);
    options(field("task"), [["", "any task"], ...[...new Set(there.map((board) => board.task))].map((task) => [slug(task), task])], state.task);
    options(field("benchmark"), offered.map((board) => [board.id, board.title]), chosen ? chosen.id : "");
    part("langs").replaceChildren(...pairs.map(([, text]) => element("option", { value: text })));
    part("models").replaceChildren(...data.models.filter((one) => state.miniature || !one.miniature).map((one) => element("option", { value: one.title })));
    for (const name of [...NUMBERS, ...DATES]) if (document.activeElement !== field(name)) { field(name).value = state[name]; mark(name, true); }
    for (const name of SWITCHES) field(name).checked = Boolean(state[name]);
    for (const box of part("licences").querySelectorAll("input")) box.checked = state.licence.includes(box.value);
    field("plot").value = state.plot;
    const active = FILTERS.filter((name) => state[name].length).length;
    part("active").textContent = active ? ` (${active} active)` : "";
    const chip = (text, remove) => element("button", { type: "button", ariaLabel: `Remove ${text}`, onclick: remove }, `${text} ×`);
    const drop = (name, value) => () => {
      state[name] = state[name].filter((one) => one !== value);
      update();
      field(name === "lang" ? "add-lang" : "add-model").focus();
    };
    part("chips").replaceChildren(
      ...state.lang.slice(1).map((code) => chip(languages.get(code).name, drop("lang", code))),
      ...state.models.map((name) => chip(models.get(name).title, drop("models", name))),
    );
  }

  function mark(name, good) {
    field(name).setAttribute("aria-invalid", String(!good));
  }

  function later(task, wait) {
    let timer = 0;
    return (...given) => { clearTimeout(timer); timer = setTimeout(() => task(...given), wait); };
  }

  function build() {
    for (const name of licences) part("licences").append(element("label", {}, element("input", { type: "checkbox", value: name, name: "licence" }), ` ${name}`));
    const soon = later(update, 250);
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const name of ["task", "benchmark", "plot"]) field(name).addEventListener("change", (event) => {
      state[name] = event.target.value;
      if (name === "task") state.benchmark = "";
      update();
    });
    field("lang").addEventListener("change", (event) => { state.lang = event.target.value === "all" ? ["all"] : [event.target.value, ...state.lang.slice(1).filter((code) => code !== event.target.value)]; update(); });
    for (const name of [...NUMBERS, ...DATES]) field(name).addEventListener("input", (event) => {
      const value = event.target.value, good = !event.target.validity.badInput && (value === "" || valid(name, value));
      mark(name, good);
      if (good) { state[name] = value; soon(); }
    });
    for (const name of SWITCHES) field(name).addEventListener("change", (event) => { state[name] = event.target.checked; update(); });
    part("licences").addEventListener("change", () => {
      state.licence = [...part("licences").querySelectorAll("input:checked")].map((box) => box.value);
      update();
    });
    adder("add-lang", "lang", (text) => codes.get((text.match(/\(([\w-]+)\)$/) || [, text])[1].toLowerCase()) || data.languages.find((one) => one.name.toLowerCase() === text.toLowerCase())?.code);
    adder("add-model", "models", (text) => (data.models.find((one) => one.title === text) || models.get(text))?.model);
    part("reset").addEventListener("click", () => {
      for (const name of FILTERS) state[name] = Array.isArray(state[name]) ? [] : "";
      update();
    });
    part("csv").addEventListener("click", () => table.download("csv", `${file()}.csv`));
    part("svg").addEventListener("click", () => save(new Blob([picture()], { type: "image/svg+xml" }), "svg"));
    part("png").addEventListener("click", png);
    part("copy").addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(location.href);
        part("note").textContent = "The address of this view is copied.";
      } catch {
        part("note").textContent = `The address of this view: ${location.href}`;
      }
    });
    const number = (digits) => (cell) => (cell.getValue() === null ? "–" : cell.getValue().toLocaleString("en", { maximumFractionDigits: digits }));
    const right = { hozAlign: "right", headerHozAlign: "right", sorter: "number", sorterParams: { alignEmptyValues: "bottom" }, headerSortStartingDir: "desc" };
    const hidden = (name) => ({ title: name, field: name, visible: false, download: true });
    table = new Tabulator(part("table"), {
      maxHeight: "32rem", layout: "fitColumns", placeholder: "No results", downloadConfig: { columnHeaders: true },
      columnDefaults: { headerWordWrap: true, titleFormatter: (cell) => element("button", { type: "button" }, cell.getValue()) },
      columns: [
        { title: "Model", titleDownload: "title", field: "title", width: 190, frozen: true, tooltip: true },
        { title: "Language", titleDownload: "language", field: "language", width: 100, visible: false },
        { ...right, title: "Result (95 % interval)", titleDownload: "value", field: "value", width: 145, formatter: (cell) => source(cell.getRow().getData()) },
        { ...right, title: "Million parameters", titleDownload: "parameters_m", field: "parameters_m", width: 105, formatter: number(0) },
        { ...right, title: "GFLOPs", titleDownload: "gflops", field: "gflops", width: 85, formatter: number(0) },
        { title: "Licence", titleDownload: "licence", field: "licence", width: 125, tooltip: true },
        { title: "Released", titleDownload: "release_date", field: "release_date", width: 100, sorterParams: { alignEmptyValues: "bottom" } },
        { ...right, title: "n", titleDownload: "n", field: "n", width: 75, formatter: number(0) },
        ...["ci_low", "ci_high", "model", "code", "address"].map(hidden),
        { ...hidden("board"), title: "benchmark", accessorDownload: (board) => board.id },
        { ...hidden("measure"), accessorDownload: () => chosen.measure },
      ],
    });
    ready = new Promise((resolve) => table.on("tableBuilt", resolve));
    table.on("dataSorted", (sorters) => {
      if (!sorters.length) return;
      const sort = `${sorters[0].dir === "desc" ? "-" : ""}${sorters[0].field}`;
      if (sort !== state.sort) { state.sort = sort; history.replaceState(null, "", hash()); }
    });
  }

  function adder(input, name, find) { // a field that adds what is typed or chosen to a list of the state
    const add = () => {
      const text = field(input).value.trim(), found = find(text);
      if (!text) return;
      if (!found) { mark(input, false); part("note").textContent = `There is no “${text}” here: choose one of the list.`; return; }
      mark(input, true);
      field(input).value = "";
      if (name === "lang") state.lang = state.lang.filter((code) => code !== "all");
      if (!state[name].includes(found)) state[name].push(found);
      update();
    };
    field(input).addEventListener("change", add);
    field(input).addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  }

  function source(row) {
    return row.address ? element("a", { href: row.address, title: "the file that this was read from" }, told(row)) : told(row);
  }

  function tabulate() {
    const several = new Set(shown.map((row) => row.code)).size > 1, sort = state.sort.replace("-", "");
    if (table.getColumn("language").isVisible() !== several) table.toggleColumn("language");
    table.setSort(sort, state.sort.startsWith("-") ? "desc" : "asc");
    table.replaceData(shown);
    part("table").setAttribute("aria-label", chosen ? chosen.title : "No results");
  }

  /* The plot */

  function draw() {
    const box = part("plot"), cost = COST[state.plot], lists = ranked().slice(0, PANELS);
    const points = lists.flatMap((list) => (cost ? list : list.slice(0, DRAWN))).map((row) => ({ ...row, date: row.release_date ? new Date(row.release_date) : null }));
    const drawn = cost ? points.filter((row) => row[cost.column] !== null) : points;
    box.replaceChildren();
    part("caption").textContent = "";
    if (!drawn.length) {
      if (points.length) part("caption").textContent = `Nobody states the ${cost.label} of these models.`;
      return;
    }
    const share = !["correlation", "CIDEr"].includes(chosen.measure), several = lists.length > 1;
    const scale = { label: `${chosen.measure}${share ? " (%)" : ""}`, percent: share, grid: true, nice: true };
    const look = { fy: several ? "language" : undefined, fill: (row) => (row.miniature ? "none" : "currentColor"), stroke: "currentColor" };
    const panel = several ? [Plot.text(lists.map((list) => list[0]), { fy: "language", text: "language", frameAnchor: "top-left", dx: 4, dy: 4, fontWeight: "bold" })] : [];
    const tip = { title: (row) => `${row.title}\n${row.language}: ${told(row)}`, tip: true };
    const width = box.clientWidth || 640, common = { width, style: { fontSize: "12px" }, fy: { axis: null, domain: lists.map((list) => list[0].language) }, ariaLabel: part("verdict").textContent };
    const figure = cost ? byCost(drawn, cost, scale, look, tip, panel, common) : intervals(drawn, lists.length, scale, look, tip, panel, common);
    figure.setAttribute("role", "img");
    box.append(figure);
    const left = new Set(shown.map((row) => row.code)).size - lists.length, few = points.length - drawn.length;
    part("caption").textContent = [
      `${chosen.title}. Bars: 95 % intervals over images or queries, where known.`,
      drawn.some((row) => row.guess !== null) && !cost ? "Dashed: guessing." : "",
      !cost && shown.length > drawn.length ? `The best ${DRAWN} models${several ? " of each language" : ""} are drawn.` : "",
      cost ? "Line and names: models that no other beats at the same or a lower cost; a comparison of values, not a test." : "",
      few ? `Not drawn: ${count(few, "result")} of models whose ${cost.label} nobody states.` : "",
      left > 0 ? `Languages drawn: the first ${PANELS} of ${left + PANELS}.` : "",
      drawn.some((row) => row.miniature) ? "Hollow: miniature models." : "",
    ].filter(Boolean).join(" ");
  }

  function intervals(drawn, panels, scale, look, tip, panel, common) {
    const names = [...new Set(drawn.map((row) => row.title))], room = Math.min(6.4 * Math.max(...names.map((name) => name.length)) + 16, common.width * 0.48);
    const most = Math.floor((room - 14) / 6.2), y = { domain: names, label: null, tickFormat: (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name), tickSize: 0 };
    const guesses = drawn.filter((row) => row.guess !== null);
    return Plot.plot({
      ...common, marginLeft: room, marginTop: 40, height: 50 + panels * (20 * names.length + 16), x: { ...scale, axis: "top", ticks: common.width < 500 ? 4 : 8 }, y,
      marks: [
        ...panel, Plot.ruleX(d3.groups(guesses, (row) => row.language).map(([, list]) => list[0]), { fy: look.fy, x: "guess", strokeDasharray: "4,3" }),
        Plot.ruleY(drawn.filter((row) => row.ci_low !== null), { fy: look.fy, y: "title", x1: "ci_low", x2: "ci_high", strokeWidth: 2 }),
        Plot.dot(drawn, { ...look, ...tip, x: "value", y: "title", r: 4 }),
      ],
    });
  }

  function byCost(drawn, cost, scale, look, tip, panel, common) {
    const x = cost.column, fronts = d3.groups(drawn, (row) => row.code).map(([, list]) => front(list, x));
    const [low, high] = d3.extent(drawn, (row) => row[x]), middle = cost.type === "log" ? Math.sqrt(low * high) : (+low + +high) / 2;
    const labels = fronts.flatMap((list) => apart(list, d3.max(drawn, (row) => row.value)));
    const label = (list, textAnchor, dx) => Plot.text(list, { fy: look.fy, x, y: "value", text: "title", textAnchor, dx, dy: -8, stroke: "var(--explorer-ground)", fill: "currentColor" });
    return Plot.plot({
      ...common, marginTop: 30, height: 60 + 330 * fronts.length, x: { type: cost.type, label: cost.label, grid: true, nice: true, ticks: common.width < 500 ? 3 : 6 }, y: scale,
      marks: [
        ...panel, Plot.ruleX(drawn.filter((row) => row.ci_low !== null), { fy: look.fy, x, y1: "ci_low", y2: "ci_high", strokeOpacity: 0.5 }),
        ...fronts.map((list) => Plot.line(list, { fy: look.fy, x, y: "value", curve: "step-after", strokeDasharray: "2,3" })),
        Plot.dot(drawn, { ...look, ...tip, x, y: "value", r: 3.5, fillOpacity: 0.6 }),
        label(labels.filter((row) => row[x] < middle), "start", 4), label(labels.filter((row) => row[x] >= middle), "end", 4),
      ],
    });
  }

  function front(list, column) { // the rows that no other beats at the same or a lower cost
    const order = d3.sort(list, (a, b) => a[column] - b[column] || b.value - a.value);
    return order.filter((row, i) => i === 0 || row.value > d3.max(order.slice(0, i), (other) => other.value));
  }

  function apart(list, top) { // of a front the rows whose names do not overlap, from the best one down
    const kept = [];
    for (const row of [...list].reverse()) if (!kept.length || kept.at(-1).value - row.value > top / 15) kept.push(row);
    return kept;
  }

  /* Files */

  function file() {
    return ["atlas", ...state.lang.slice(0, 3), chosen ? chosen.id : ""].filter(Boolean).join("-");
  }

  function save(blob, ending) {
    const link = element("a", { href: URL.createObjectURL(blob), download: `${file()}.${ending}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function picture() { // the plot by itself: dark on white, whatever the page is
    const copy = part("plot").querySelector("svg").cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("style", "color: #222; background: #fff; font: 12px system-ui, sans-serif; --explorer-ground: #fff; --plot-background: #fff");
    return new XMLSerializer().serializeToString(copy);
  }

  function png() {
    const svg = part("plot").querySelector("svg"), image = new Image(), scale = 2;
    image.onload = () => {
      const canvas = element("canvas", { width: svg.clientWidth * scale, height: svg.clientHeight * scale });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, "png"), "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture())}`;
  }
})();
