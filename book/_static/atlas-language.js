// Offers a reader the page of the browser's own language, and its words for the photographs of the title page. Nothing is stored,
// and nothing is sent.
"use strict";
const MARKS = { correct: "✓", wrong: "✗", unlabelled: "–" };
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("p.atlas-language")) {
    const pages = JSON.parse(place.dataset.pages);
    const code = navigator.languages
      .filter((tag) => !/^en\b/i.test(tag))
      .flatMap((tag) => [tag, tag.split("-")[0]])
      .find((tag) => Object.hasOwn(pages, tag));
    if (!code) continue;
    const link = Object.assign(document.createElement("a"), { href: `language-${code}.html`, textContent: pages[code] });
    place.append("Your language? ", link);
    place.hidden = false;
  }
  for (const figure of document.querySelectorAll("figure.atlas-pictures")) {
    const languages = JSON.parse(figure.querySelector("script").textContent);
    const element = (name, values, ...inner) => {
      const made = Object.assign(document.createElement(name), values);
      made.append(...inner);
      return made;
    };
    const cell = (code, [word, english, state]) => {
      // What a mark means stands in the rows that the page has.
      const meaning = figure.querySelector("figcaption").dataset[state];
      const mark = element("span", { role: "img", title: meaning, ariaLabel: meaning }, MARKS[state]);
      return element("td", { className: state }, element("bdi", { lang: code }, word), " ", element("small", {}, english), mark);
    };
    const show = (code) => {
      figure.querySelector("tr.atlas-own")?.remove();
      if (!code) return;
      const { name, labels, cells } = languages[code];
      const count = labels === 1 ? "1 label" : `${labels.toLocaleString("en")} labels`;
      const head = element("th", { scope: "row" }, `${name} `, element("small", {}, count));
      const row = element("tr", { className: "atlas-own" }, head, ...cells.map((values) => cell(code, values)));
      figure.querySelector("tbody").prepend(row);
    };
    const byName = Object.keys(languages).sort((first, second) => languages[first].name.localeCompare(languages[second].name));
    const title = ({ name, own_name }) => (own_name && own_name !== name ? `${name} · ${own_name}` : name);
    const options = byName.map((code) => element("option", { value: code }, title(languages[code])));
    const choice = element("select", {}, element("option", { value: "" }, "none"), ...options);
    choice.addEventListener("change", () => show(choice.value));
    figure.prepend(element("label", {}, "Another language: ", choice));
    const code = navigator.languages.flatMap((tag) => [tag, tag.split("-")[0]]).find((tag) => Object.hasOwn(languages, tag));
    choice.value = code ?? "";
    show(code);
  }
});
