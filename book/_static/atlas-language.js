// Offers a reader the page of the browser's own language. Nothing is stored, and nothing is sent.
"use strict";
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
});
