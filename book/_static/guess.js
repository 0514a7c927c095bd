// Guess first: a reader of a language's page guesses the best model's result, and takes ten items of the miniature. Nothing is stored.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector(".atlas-guess");
  if (!place) return;
  const told = JSON.parse(place.dataset.guess);
  const make = (tag, options = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), options);
    element.append(...children);
    return element;
  };
  const box = make("details", { className: "atlas-guess-box" });
  box.append(make("summary", { textContent: "Guess first" }));
  place.append(box);
  place.hidden = false;

  // What the page says of real models, hidden while somebody guesses.
  const shown = () => [...document.querySelectorAll(".bd-article .admonition, .bd-article .admonition + p, #best-for-its-size, #all-released-results, #results-reported-in-papers")];
  if (told.best) {
    const slider = make("input", { type: "range", min: 0, max: 100, value: 50, id: "atlas-guess-value" });
    const value = make("output", { textContent: "50 %" });
    const answer = make("p", { role: "status" });
    const show = make("button", { type: "button", textContent: "Show the result" });
    slider.addEventListener("input", () => (value.textContent = `${slider.value} %`));
    show.addEventListener("click", () => {
      shown().forEach((element) => (element.hidden = false));
      const off = Math.abs(slider.value - told.best.value).toFixed(1);
      answer.textContent = `${told.best.title} reaches ${told.best.value.toFixed(1)} %. Your guess, ${slider.value} %, is ${off} points away.`;
    });
    box.addEventListener("toggle", () => {
      if (!answer.textContent) shown().forEach((element) => (element.hidden = box.open));
    });
    const label = make("label", {
      htmlFor: slider.id,
      textContent: `How many percent does the best open model reach in ${told.name} (${told.best.data})?`,
    });
    box.append(make("div", { className: "atlas-guess-part" }, label, make("div", {}, slider, value), show, answer));
  }
  if (told.items.length) {
    const start = make("button", { type: "button", textContent: `Name ${told.items.length} drawings in ${told.name}` });
    const part = make("div", { className: "atlas-guess-part" }, start);
    box.append(part);
    start.addEventListener("click", () => {
      start.disabled = true;
      const script = make("script", { src: told.drawings });
      script.addEventListener("load", () => ask(part));
      document.head.append(script);
    });
  }

  function ask(part) {
    let at = 0, mine = 0, models = 0;
    const next = () => {
      if (at === told.items.length) {
        part.replaceChildren(
          make("p", { role: "status", tabIndex: -1,
            textContent: `You: ${mine} of ${at} correct. ${told.model}, a tiny model of the miniature: ${models} of ${at}, of the same four words.` }));
        part.firstChild.focus();
        return;
      }
      const item = told.items[at];
      const picture = make("img", { src: window.ATLAS_DRAWINGS[`${item.wnid}/${item.number}`], width: 96, height: 96,
        alt: `Drawing ${at + 1} of ${told.items.length}: which word names it?` });
      const result = make("p", { role: "status" });
      const words = item.words.map((word, place) => {
        const button = make("button", { type: "button", lang: told.lang, dir: "auto", textContent: word });
        button.addEventListener("click", () => {
          words.forEach((one) => (one.disabled = true));
          const right = place === item.correct;
          mine += right; models += item.model === item.correct; at += 1;
          const on = make("button", { type: "button", textContent: at < told.items.length ? "Next" : "Result" });
          on.addEventListener("click", next);
          const name = (i) => make("bdi", { lang: told.lang, textContent: item.words[i] });
          result.append(right ? "Correct. " : "Not the label: it is ", ...(right ? [] : [name(item.correct), ". "]),
            "The model says ", name(item.model), ". ", on);
          on.focus();
        });
        return button;
      });
      part.replaceChildren(picture, make("div", { className: "atlas-guess-words", role: "group", ariaLabel: "Words" }, ...words), result);
      words[0].focus();
    };
    next();
  }
});
