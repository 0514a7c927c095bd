/* The explorer: one view of all results. The address holds the state; whatever changes the state draws the view again.
   The data are made by lib/babelatlas/analysis/all_results.py; the table is Tabulator's, the plot Observable Plot's.
   Names come from files: they are only ever set as text, never as HTML. */
(async () => {
  "use strict";
  const form = document.getElementById("explorer");
  if (!form) return;
  const part = (name) => document.getElementById(`explorer-${name}`);
  const field = (name) => form.elements[name];
  const LISTS = ["lang", "models", "licence"], BOUNDS = { max_params: "parameters_m", max_gflops: "gflops", max_memory: "memory_mib", max_ms: "milliseconds" };
  const NUMBERS = Object.keys(BOUNDS), DATES = ["since", "until"], SWITCHES = ["commercial", "closed", "miniature"];
  const FILTERS = ["kind", "models", "licence", "commercial", ...NUMBERS, ...DATES], STANDARD = { plot: "intervals", sort: "-value" };
  const COLUMNS = ["language", "title", "value", "parameters_m", "gflops", "memory_mib", "milliseconds", "licence", "release_date", "n"];
  const COST = { // what a plot has on its horizontal axis
    size: { column: "parameters_m", label: "million parameters", type: "log", rival: "smaller" },
    gflops: { column: "gflops", label: "GFLOPs for an image and a text", type: "log", rival: "cheaper" },
    ms: { column: "milliseconds", label: "milliseconds for an image and a text", type: "log", rival: "faster" },
    memory: { column: "memory_mib", label: "MiB of memory", type: "log", rival: "leaner" },
    date: { column: "date", label: "release date", type: "utc", rival: "earlier" },
  };
  const NAMED = 3, DRAWN = 25, PANELS = 4; // languages with a sentence; models and languages of a plot
  const UNSTATED = "not stated";

  if (!window.ATLAS) {
    part("note").textContent = "This book has no data for the explorer: its run left out the chapter 10_languages.";
    return;
  }
  const data = await unpack(window.ATLAS);
  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const languages = new Map(data.languages.map((one) => [one.code, one]));
  const codes = new Map(); // any spelling of a code -> code; a code of ours goes before an alias
  for (const one of data.languages) for (const alias of one.aliases) if (!codes.has(alias)) codes.set(alias, one.code);
  for (const one of data.languages) codes.set(one.code.toLowerCase(), one.code);
  const models = new Map(data.models.map((one) => [one.model, one]));
  const boards = new Map(data.boards.map((one) => [one.id, one]));
  const tasks = new Map(data.boards.map((one) => [slug(one.task), one.task]));
  const licenceOf = (model) => (model.weights === "closed" ? "closed weights" : model.licence || UNSTATED);
  const licences = [...new Set(data.models.map(licenceOf))].sort((a, b) => a.localeCompare(b));
  const rows = data.rows.n.map(record);
  const real = new Set(rows.filter((row) => !row.miniature).map((row) => row.code));
  const KNOWN = { // of the words in an address: what may stand there
    models, kind: new Set(data.models.map((one) => one.kind)), licence: new Set(licences), task: tasks, benchmark: boards,
    plot: new Set(["intervals", ...Object.keys(COST)]), sort: new Set(COLUMNS.flatMap((one) => [one, `-${one}`])),
  };

  let state = {}, shown = [], chosen = null;
  const table = build();
  await new Promise((resolve) => table.on("tableBuilt", resolve));
  read();
  window.addEventListener("hashchange", () => { if (location.hash !== hash()) read(); });
  window.addEventListener("resize", later(draw, 200));

  /* Data */

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  function record(n, i) {
    const of = (name) => data.rows[name][i];
    const model = data.models[of("model")], language = data.languages[of("lang")];
    const row = { ...model, licence: licenceOf(model), code: language.code, language: language.name, n: n || null };
    for (const name of ["value", "ci_low", "ci_high", "baseline", "above"]) row[name] = of(name);
    return Object.assign(row, { board: data.boards[of("board")], address: data.addresses[of("address")] });
  }

  /* State and address */

  function read() {
    const given = new URLSearchParams(location.hash.slice(1)), notes = [];
    state = { lang: [], models: [], licence: [], task: "", benchmark: "", kind: "", ...STANDARD };
    for (const name of [...NUMBERS, ...DATES]) state[name] = "";
    for (const [name, value] of given) {
      const words = LISTS.includes(name) ? value.split(",") : [value];
      for (const word of words.filter(Boolean)) {
        const bound = NUMBERS.includes(name);
        if (name === "lang") {
          const code = word === "all" ? word : codes.get(word.trim().toLowerCase().replaceAll("_", "-"));
          if (code) state.lang.push(code);
          else notes.push(`No language with a result here has the code “${word}”.`);
        } else if (SWITCHES.includes(name)) state[name] = word === "1";
        else if (bound || DATES.includes(name)) {
          if (valid(name, word)) state[name] = word;
          else notes.push(`${name} is “${word}”; expected ${bound ? "a number, such as 500" : "a date, such as 2023-06"}.`);
        } else if (!KNOWN[name]) notes.push(`The explorer knows no “${name}”.`);
        else if (!KNOWN[name].has(word)) notes.push(`There is no ${name.replace("models", "model")} “${word}” here.`);
        else state[name] = LISTS.includes(name) ? [...new Set([...state[name], word])] : word;
      }
    }
    state.lang = state.lang.includes("all") ? ["all"] : [...new Set(state.lang)];
    if (!state.lang.length) { // the reader's own, as far as the browser tells it
      const asked = navigator.languages.map((tag) => codes.get(tag.toLowerCase()) || codes.get(tag.split("-")[0]));
      state.lang = [[...asked, "en", ...real].find((code) => real.has(code))];
      if (given.get("lang")) notes.push(`${languages.get(state.lang[0]).name} is shown.`);
    }
    // A language or a benchmark that only the miniature has, named in the address, asks for it.
    const small = state.lang[0] !== "all" && !state.lang.some((code) => real.has(code));
    if (small || (state.benchmark && !rows.some((row) => row.board.id === state.benchmark && !row.miniature))) state.miniature = true;
    update(notes);
  }

  function valid(name, value) {
    return NUMBERS.includes(name) ? value.trim() !== "" && Number(value) >= 0 : /^\d{4}(-\d\d){0,2}$/.test(value);
  }

  function hash() {
    const words = [];
    for (const name of ["lang", "task", "benchmark", ...FILTERS, "closed", "miniature", "plot", "sort"]) {
      const value = LISTS.includes(name) ? state[name] : [state[name] === true ? 1 : state[name] || ""];
      const text = value.map(encodeURIComponent).join(",");
      if (text && text !== STANDARD[name]) words.push(`${name}=${text}`);
    }
    return `#${words.join("&")}`;
  }

  /* The view */

  function update(notes = []) {
    const all = state.lang[0] === "all";
    const near = rows.filter((row) => (all || state.lang.includes(row.code)) && (state.miniature || !row.miniature) && (!state.kind || row.kind === state.kind));
    const there = data.boards.filter((board) => near.some((row) => row.board === board));
    if (state.task && !there.some((board) => slug(board.task) === state.task)) {
      notes.push(`No result of the task “${tasks.get(state.task)}” in ${named()}; another task is shown.`);
      state.task = "";
    }
    const offered = there.filter((board) => !state.task || slug(board.task) === state.task);
    chosen = offered.find((board) => board.id === state.benchmark);
    if (!chosen && state.benchmark) {
      notes.push(`No result of “${boards.get(state.benchmark).title}” in ${named()}; another benchmark is shown.`);
      state.benchmark = "";
    }
    chosen ||= offered[0];
    const open = near.filter((row) => row.board === chosen && (state.closed || row.weights !== "closed"));
    const gone = all ? [] : state.lang.filter((code) => !open.some((row) => row.code === code));
    if (open.length && gone.length) notes.push(`No result here in ${gone.map((code) => languages.get(code).name).join(", ")}.`);
    const judged = d3.group(open, judge), distinct = (list, name) => new Set(list.map((row) => row[name])).size;
    shown = judged.get("in") || [];
    const unknown = distinct(judged.get("unknown") || [], "model");
    controls(there, offered);
    part("note").textContent = notes.join(" ");
    verdict(open.length);
    part("count").textContent = `${count(shown.length, "result")} of ${count(distinct(shown, "model"), "model")}`
      + (all || state.lang.length > 1 ? ` in ${count(distinct(shown, "code"), "language")}.` : ".")
      + (unknown ? ` Left out: ${count(unknown, "model")} for which nobody states what is filtered.` : "")
      + (chosen?.origin === "run" ? " Evaluated in this run: no released result." : "")
      + (shown.some((row) => row.above === 0) ? ` ▽: not above ${chosen.baseline_name}.` : "");
    tabulate(distinct(shown, "code") > 1);
    draw();
    history.replaceState(null, "", hash());
  }

  function judge(row) {
    if (state.models.length && !state.models.includes(row.model)) return "out";
    if (state.commercial && !row.commercial) return "out";
    let answer = "in";
    if (state.licence.length && !state.licence.includes(row.licence)) {
      if (row.licence !== UNSTATED) return "out";
      answer = "unknown";
    }
    for (const [name, column] of Object.entries(BOUNDS)) {
      if (state[name] !== "" && row[column] === null) answer = "unknown";
      else if (state[name] !== "" && row[column] > Number(state[name])) return "out";
    }
    for (const name of DATES.filter((one) => state[one])) {
      const length = Math.min(state[name].length, row.release_date.length); // 2023 is any month of that year
      const [own, end] = [row.release_date.slice(0, length), state[name].slice(0, length)];
      if (!row.release_date) answer = "unknown";
      else if (name === "since" ? own < end : own > end) return "out";
    }
    return answer;
  }

  function active(name) { // whether a filter leaves models out
    return state[name] === true || state[name]?.length > 0;
  }

  function named() {
    return state.lang[0] === "all" ? "any language" : state.lang.map((code) => languages.get(code).name).join(" or ");
  }

  function label(language) { // with what its speakers call it
    const own = language.autonym && language.autonym !== language.name ? `, ${language.autonym}` : "";
    return `${language.name}${own} (${language.code})`;
  }

  function count(number, word) {
    return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  }

  function shares() { // whether the results are fractions
    return !["correlation", "CIDEr"].includes(chosen.measure);
  }

  function fixed(number, digits) { // ties to even, as on all other pages; toFixed rounds them up
    const tie = Math.abs(number * 2 ** (digits + 1)) % 2 === 1, below = Math.floor(number * 10 ** digits);
    return (tie ? (below + Math.abs(below % 2)) / 10 ** digits : number).toFixed(digits);
  }

  function told(row) {
    const text = (value) => (shares() ? fixed(100 * value, 1) : fixed(value, 2)).replace(/^-(0\.0+)$/, "$1");
    const ends = row.ci_low === null ? "" : ` (${text(row.ci_low)}–${text(row.ci_high)})`;
    return `${text(row.value)}${shares() ? " %" : ""}${ends}${row.above === 0 ? " ▽" : ""}`;
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
    else if (lists.length <= NAMED) {
      for (const list of lists) say(...sentence(list));
      if (lists.length === 2) say(both(...lists));
      say(`Test: ${chosen.title}.`);
      for (const list of lists) recommend(list[0]);
    }
    else if (new Set(shown.map((row) => row.model)).size === 1) {
      const [low, high] = [d3.least(shown, (row) => row.value), d3.greatest(shown, (row) => row.value)];
      say(`${high.title}: the ${chosen.measure} is highest in ${high.language}, ${told(high)}, and lowest in ${low.language}, ${told(low)}.`);
    } else {
      const [title, most] = d3.greatest(d3.rollups(lists, (won) => won.length, (list) => list[0].title), (pair) => pair[1]);
      say(`${title} has the highest ${chosen.measure} in ${most} of ${lists.length} languages: a count, without a test.`);
    }
  }

  function recommend(row) { // which model to use, by the rule of the book, whatever the filters and the benchmark are
    const uses = data.recommended?.[row.code] || []; // data of an earlier book have none
    if (!uses.length || row.miniature) return;
    const item = (one) => element("li", {}, one.text);
    const groups = d3.groups(uses, (one) => one.test).map(([test, list]) => [element("p", {}, `${test}:`), element("ul", {}, ...list.map(item))]);
    const head = element("summary", {}, `Which model to use in ${row.language}, whatever is chosen above`);
    part("verdict").append(element("details", { open: true }, head, ...groups.flat()));
  }

  function both(one, other) { // two languages, model by model
    const second = new Map(other.map((row) => [row.model, row.value])), name = (list) => list[0].language;
    const gaps = one.filter((row) => second.has(row.model)).map((row) => row.value - second.get(row.model));
    if (!gaps.length) return `No model has results in both ${name(one)} and ${name(other)}.`;
    const middle = d3.median(gaps), [more, less] = middle >= 0 ? [one, other] : [other, one], ahead = gaps.filter((gap) => gap * (middle || 1) > 0).length;
    const gap = shares() ? `${fixed(Math.abs(100 * middle), 1)} points` : fixed(Math.abs(middle), 2);
    return `${ahead} of ${count(gaps.length, "model")} with results in both score higher in ${name(more)} than in ${name(less)}; the median difference is ${gap}. A comparison of values, not a test: texts and classes differ by language.`;
  }

  function sentence(list) {
    const [best] = list, ties = list.filter((row) => row.value === best.value), others = list.slice(ties.length);
    const large = best.parameters_m >= 1000, size = large ? (best.parameters_m / 1000).toFixed(1) : Number((best.parameters_m || 0).toPrecision(3));
    const licence = best.licence === UNSTATED ? "licence not stated" : best.licence;
    const facts = [size && `${size} ${large ? "b" : "m"}illion parameters`, licence, best.release_date.slice(0, 4)].filter(Boolean).join(", ");
    const matching = FILTERS.some(active), among = `${list.length} models${matching ? " that match the filters" : ""}`;
    let text = `Of ${among}, ${best.title} (${facts}) has the highest ${chosen.measure}: ${told(best)}.`;
    if (ties.length > 1) text = `${join(ties)} share the highest ${chosen.measure} of ${among}: ${told(best)}.`;
    if (list.length === 1) text = `One model ${matching ? "matches the filters" : "was evaluated"}, ${best.title} (${facts}): its ${chosen.measure} is ${told(best)}.`;
    if (others.length && best.ci_low === null) text += " No interval is known for it.";
    else if (others.length) {
      const near = others.filter((row) => row.ci_high !== null && row.ci_high >= best.ci_low), one = near.length === 1;
      text += near.length ? ` The interval${one ? "" : "s"} of ${join(near)} overlap${one ? "s" : ""} with it; overlap is no test.` : " No other interval overlaps with it.";
    }
    if (best.above === 0) text += ` That is not above ${baseline(best)}.`;
    const page = element("a", { href: `language-${best.code}.html` }, `the page on ${best.language}`);
    return [element("strong", {}, `${best.language}.`), ` ${text}`, ...(languages.get(best.code).page ? [" More: ", page, "."] : [])];
  }

  function baseline(row) { // what an answer without looking scores
    return `${row.board.baseline_name} (${shares() ? `${(100 * row.baseline).toFixed(row.baseline < 0.001 ? 2 : 1)} %` : row.baseline})`;
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

  function controls(there, offered) {
    const options = (place, pairs) => place.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text || "")));
    const usable = data.languages.filter((one) => state.miniature || real.has(one.code)).sort((a, b) => a.name.localeCompare(b.name));
    const pairs = usable.map((one) => [one.code, label(one)]);
    options(field("lang"), [["all", "all languages"], ...pairs]);
    options(field("task"), [["", "any task"], ...new Map(there.map((board) => [slug(board.task), board.task]))]);
    options(field("benchmark"), offered.map((board) => [board.id, board.title]));
    options(part("langs"), pairs.map(([, text]) => [text]));
    options(part("models"), data.models.filter((one) => state.miniature || !one.miniature).map((one) => [one.title]));
    for (const [name, value] of [["lang", state.lang[0]], ["kind", state.kind], ["task", state.task], ["benchmark", chosen?.id], ["plot", state.plot]]) field(name).value = value;
    for (const name of [...NUMBERS, ...DATES]) if (document.activeElement !== field(name)) field(name).value = state[name];
    for (const name of SWITCHES) field(name).checked = Boolean(state[name]);
    for (const box of part("licences").querySelectorAll("input")) box.checked = state.licence.includes(box.value);
    const set = FILTERS.filter(active).length;
    part("active").textContent = set ? ` (${set} active)` : "";
    const chip = (name, value, text) => element("button", { type: "button", ariaLabel: `Remove ${text}`, onclick: () => {
      state[name] = state[name].filter((one) => one !== value);
      update();
      field(`add-${name}`).focus();
    } }, `${text} ×`);
    const chips = state.lang.slice(1).map((code) => chip("lang", code, languages.get(code).name));
    part("chips").replaceChildren(...chips, ...state.models.map((name) => chip("models", name, models.get(name).title)));
  }

  function later(task, wait) {
    let timer = 0;
    return () => { clearTimeout(timer); timer = setTimeout(() => task(), wait); };
  }

  function build() { // what is there once: listeners, and the table, which is returned
    const soon = later(update, 250), on = (name, event, task) => field(name).addEventListener(event, task);
    const box = (value) => element("label", {}, element("input", { type: "checkbox", value }), ` ${value}`);
    part("licences").append(...licences.map(box));
    part("licences").addEventListener("change", () => {
      state.licence = [...part("licences").querySelectorAll("input:checked")].map((one) => one.value);
      update();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const name of ["kind", "task", "benchmark", "plot"]) on(name, "change", () => {
      state[name] = field(name).value;
      if (name === "task") state.benchmark = "";
      update();
    });
    on("lang", "change", () => {
      const first = field("lang").value;
      state.lang = first === "all" ? [first] : [first, ...state.lang.slice(1).filter((code) => code !== first)];
      update();
    });
    for (const name of [...NUMBERS, ...DATES]) on(name, "input", () => {
      const value = field(name).value, good = !field(name).validity.badInput && (value === "" || valid(name, value));
      field(name).setAttribute("aria-invalid", !good);
      if (good) { state[name] = value; soon(); }
    });
    for (const name of SWITCHES) on(name, "change", () => { state[name] = field(name).checked; update(); });
    adder("lang", (text) => data.languages.find((one) => [one.code, one.name, one.autonym, label(one)].includes(text))?.code);
    adder("models", (text) => data.models.find((one) => [one.model, one.title].includes(text))?.model);
    part("reset").addEventListener("click", () => {
      for (const name of FILTERS) state[name] = Array.isArray(state[name]) ? [] : name === "commercial" ? false : "";
      for (const name of [...NUMBERS, ...DATES]) field(name).setAttribute("aria-invalid", false);
      update();
    });
    part("csv").addEventListener("click", () => table.download("csv", `${file()}.csv`));
    part("svg").addEventListener("click", () => save(new Blob([picture()], { type: "image/svg+xml" }), "svg"));
    part("png").addEventListener("click", png);
    part("copy").addEventListener("click", async () => {
      const done = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
      part("note").textContent = done ? "The address of this view is copied." : `The address of this view: ${location.href}`;
    });
    const number = (cell) => (cell.getValue() === null ? "–" : cell.getValue().toLocaleString("en", { maximumFractionDigits: cell.getValue() < 10 ? 2 : 0 }));
    const column = (title, titleDownload, width, more) => ({ title, titleDownload, field: titleDownload, width, ...more });
    const right = { hozAlign: "right", sorter: "number", sorterParams: { alignEmptyValues: "bottom" }, headerSortStartingDir: "desc", formatter: number };
    const hidden = (name, accessorDownload) => ({ title: name, field: name, visible: false, download: true, accessorDownload });
    const wide = part("table").clientWidth > 500;
    const made = new Tabulator(part("table"), {
      maxHeight: "32rem", layout: "fitColumns", placeholder: "No results",
      columnDefaults: { headerWordWrap: true, titleFormatter: (cell) => element("button", { type: "button" }, cell.getValue()) },
      columns: [
        column("Model", "title", wide ? 190 : 130, { frozen: true, formatter: "textarea", tooltip: (event, cell) => document.createTextNode(cell.getValue()) }),
        column("Language", "language", wide ? 100 : 80, { visible: false }),
        column("Result (95 % interval)", "value", 145, { ...right, formatter: (cell) => source(cell.getRow().getData()) }),
        column("Million parameters", "parameters_m", 105, right), column("GFLOPs", "gflops", 85, right),
        column("Memory (MiB)", "memory_mib", 90, { ...right, visible: false }), column("Milliseconds", "milliseconds", 100, { ...right, visible: false }),
        column("Licence", "licence", 125), column("Released", "release_date", 100, { sorterParams: { alignEmptyValues: "bottom" } }),
        column("n", "n", 75, right), hidden("ci_low"), hidden("ci_high"), hidden("model"), { ...hidden("code"), title: "lang" }, hidden("address"),
        hidden("board", (board) => board.id), hidden("measure", () => chosen.measure), hidden("kind"), hidden("baseline"), hidden("above"),
      ],
    });
    made.on("tableBuilt", () => { // the part that scrolls by keyboard is the one that holds the rows
      part("table").removeAttribute("aria-owns");
      part("table").querySelector(".tabulator-tableholder").setAttribute("role", "rowgroup");
      part("table").querySelector(".tabulator-table").setAttribute("role", "none");
    });
    made.on("dataSorted", ([sorter]) => {
      if (!sorter) return;
      state.sort = `${sorter.dir === "desc" ? "-" : ""}${sorter.field}`;
      history.replaceState(null, "", hash());
    });
    return made;
  }

  function adder(name, find) { // a field that adds what is typed or chosen to a list of the state
    const input = field(`add-${name}`), add = () => {
      const text = input.value.trim(), found = find(text);
      input.setAttribute("aria-invalid", Boolean(text && !found));
      if (text && !found) part("note").textContent = `There is no “${text}” here: choose one of the list.`;
      if (!found) return;
      input.value = "";
      state[name] = [...new Set([...state[name].filter((one) => one !== "all"), found])];
      update();
    };
    input.addEventListener("change", add);
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  }

  function source(row) {
    return row.address ? element("a", { href: row.address, title: "the file that this was read from" }, told(row)) : told(row);
  }

  function tabulate(several) {
    if (table.getColumn("language").isVisible() !== several) table.toggleColumn("language");
    const measured = ["ms", "memory"].includes(state.plot) || state.max_memory !== "" || state.max_ms !== "";
    for (const name of ["memory_mib", "milliseconds"]) if (table.getColumn(name).isVisible() !== measured) table.toggleColumn(name);
    const [sorter] = table.getSorters(), dir = state.sort.startsWith("-") ? "desc" : "asc", by = state.sort.replace("-", "");
    if (sorter?.field !== by || sorter.dir !== dir) table.setSort(by, dir);
    table.replaceData(shown);
    part("table").setAttribute("aria-label", chosen ? chosen.title : "No results");
  }

  /* The plot */

  function draw() {
    const cost = COST[state.plot], lists = ranked().slice(0, PANELS), several = lists.length > 1;
    const best = new Set(lists.flatMap((list) => list.slice(0, Math.ceil(DRAWN / lists.length))).map((row) => row.model));
    const points = lists.flat().filter((row) => cost || best.has(row.model));
    const dated = points.map((row) => ({ ...row, date: row.release_date ? new Date(row.release_date) : null }));
    const drawn = dated.filter((row) => !cost || row[cost.column] !== null), few = points.length - drawn.length;
    part("plot").replaceChildren();
    part("caption").textContent = points.length ? `Nobody states the ${cost?.label} of these models.` : "";
    if (!drawn.length) return;
    const fy = several ? "language" : undefined, width = part("plot").clientWidth || 640;
    const look = { fy, fill: (row) => (row.miniature ? "none" : "currentColor"), stroke: "currentColor", tip: true };
    const title = (row) => `${row.title}\n${row.language}: ${told(row)}`, place = several ? 20 : 0;
    const names = Plot.text(several ? lists.map((list) => list[0]) : [], { fy, text: "language", frameAnchor: "top-left", dx: 4, dy: 4, fontWeight: "bold" });
    const figure = Plot.plot({
      width, style: { fontSize: "12px" }, ariaLabel: part("verdict").textContent,
      fy: { axis: null, padding: 0.04, domain: lists.map((list) => list[0].language) },
      ...(cost ? byCost : intervals)(drawn, { ...look, title }, lists.length, width, place, [names, several ? Plot.frame({ strokeOpacity: 0.2 }) : null]),
    });
    figure.setAttribute("role", "img");
    for (const mark of figure.querySelectorAll("g[aria-label]")) mark.removeAttribute("aria-label"); // the figure has one
    part("plot").append(figure);
    const left = new Set(shown.map((row) => row.code)).size - lists.length;
    part("caption").textContent = [
      `${chosen.title}. Bars: 95 % intervals over images or queries, where known.`,
      !cost && drawn.some((row) => row.baseline !== null) ? `Dashed: ${chosen.baseline_name}.` : "",
      points.length < lists.flat().length ? `Models drawn: the best ${Math.ceil(DRAWN / lists.length)}${several ? " of each language" : ""}.` : "",
      cost ? `Line and names: no ${cost.rival} model scores higher than these; a comparison of values, not a test.` : "",
      few ? `Not drawn: ${count(few, "result")} of models whose ${cost.label} nobody states.` : "",
      left > 0 ? `Languages drawn: the first ${PANELS} of ${left + PANELS}.` : "",
      drawn.some((row) => row.miniature) ? "Hollow: miniature models." : "",
    ].filter(Boolean).join(" ");
  }

  function scale() {
    return { label: `${chosen.measure}${shares() ? " (%)" : ""}`, percent: shares(), grid: true, nice: true };
  }

  function intervals(drawn, look, panels, width, insetTop, marks) {
    const names = [...new Set(drawn.map((row) => row.title))], guesses = drawn.filter((row) => row.baseline !== null);
    const marginLeft = Math.min(7 * d3.max(names, (name) => name.length) + 16, width * 0.48), most = Math.floor((marginLeft - 14) / 6.8);
    const tickFormat = (name) => (name.length > most ? `${name.slice(0, most - 9)}…${name.slice(-8)}` : name); // both ends tell
    return {
      marginLeft, marginTop: 40, height: 50 + panels * (20 * names.length + 28),
      x: { ...scale(), axis: "top", ticks: width < 500 ? 4 : 8 }, y: { domain: names, label: null, tickFormat, tickSize: 0, insetTop },
      marks: [
        ...marks, Plot.ruleX(d3.groups(guesses, (row) => row.code).map(([, list]) => list[0]), { fy: look.fy, x: "baseline", strokeDasharray: "4,3" }),
        Plot.ruleY(drawn.filter((row) => row.ci_low !== null), { fy: look.fy, y: "title", x1: "ci_low", x2: "ci_high", strokeWidth: 2 }),
        Plot.dot(drawn, { ...look, x: "value", y: "title", r: 4 }),
      ],
    };
  }

  function byCost(drawn, look, panels, width, insetTop, marks) {
    const { column: x, label, type } = COST[state.plot], fy = look.fy, top = d3.max(drawn, (row) => row.value);
    const fronts = d3.groups(drawn, (row) => row.code).map(([, list]) => front(list, x)), [low, high] = d3.extent(drawn, (row) => row[x]);
    const middle = type === "log" ? Math.sqrt(low * high) : (+low + +high) / 2, labels = fronts.flatMap((list) => apart(list, top / 15));
    const name = (list, textAnchor) => Plot.text(list, { fy, x, y: "value", text: "title", textAnchor, dx: 4, dy: -8, stroke: "var(--explorer-ground)", fill: "currentColor" });
    return {
      marginTop: 30, height: 60 + 330 * panels, x: { type, label, grid: true, nice: true, ticks: width < 500 ? 3 : 6 }, y: { ...scale(), insetTop },
      marks: [
        ...marks, Plot.ruleX(drawn.filter((row) => row.ci_low !== null), { fy, x, y1: "ci_low", y2: "ci_high", strokeOpacity: 0.5 }),
        ...fronts.map((list) => Plot.line(list, { fy, x, y: "value", curve: "step-after", strokeDasharray: "2,3" })),
        Plot.dot(drawn, { ...look, x, y: "value", r: 3.5, fillOpacity: 0.6 }),
        name(labels.filter((row) => row[x] < middle), "start"), name(labels.filter((row) => row[x] >= middle), "end"),
      ],
    };
  }

  function front(list, column) { // the rows that no other beats at the same or a lower cost
    const order = d3.sort(list, (a, b) => a[column] - b[column] || b.value - a.value);
    return order.filter((row, i) => i === 0 || row.value > d3.max(order.slice(0, i), (other) => other.value));
  }

  function apart(list, least) { // of a front the rows whose names do not overlap, from the best one down
    return [...list].reverse().reduce((kept, row) => (kept.length && kept.at(-1).value - row.value < least ? kept : [...kept, row]), []);
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
    copy.setAttribute("style", "color: #222; background: #fff; font: 12px system-ui, sans-serif; --explorer-ground: #fff");
    return new XMLSerializer().serializeToString(copy);
  }

  function png() {
    const svg = part("plot").querySelector("svg"), image = new Image();
    image.onload = () => {
      const canvas = element("canvas", { width: 2 * svg.clientWidth, height: 2 * svg.clientHeight });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(blob, "png"), "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture())}`;
  }
})();
