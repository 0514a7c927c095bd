// How the search ranks what it finds: by Sphinx's own scores, pages first whose title has all that was asked for.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([, title, , , score]) => {
    const asked = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
    return score + (asked && title.toLowerCase().includes(asked) ? 100 : 0);
  },
};
