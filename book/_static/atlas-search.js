// How the search ranks what it finds, in place of Sphinx's own way, which asks for all words and then sorts by title.
// Of each word: the rarer it is in the book, the more it counts; most in a page's title, then in a heading or in a phrase by
// which readers call the page's subject (book/search.yml, other names of languages), then in the text.
"use strict";

const IN_TITLE = 4;
const IN_HEADING = 2.5;
const IN_TEXT = 1;
const OF_A_BEGINNING = 0.4;  // of a longer word that begins with what was asked for
const WHOLE_PHRASE = 2;  // how many times as much a page counts whose title or heading has all that was asked for, in one piece,
const TITLE_NAMED = 3;  // and how many whose whole title is a part of what was asked for, as "Hausa" of "best model Hausa"
const LED_TO = 0.5;  // of what was asked for: a reader is led to a heading that has more than this, and more than the title
const LEAST = 0.25;  // of the best page's score; below, a page is not shown

// Words of a question that say nothing of its subject; British spellings, as in the book.
const ASKING = new Set(["how", "what", "which", "who", "why", "where", "when", "do", "does", "did", "can", "should", "you", "your", "my", "me", "i"]);
const SPELLINGS = { license: "licence", licenses: "licences", licensed: "licence", dataset: "data set", datasets: "data sets" };

const SearchRanking = {
  // The words of a text as Sphinx indexes them.
  stems: (text) => {
    const stemmer = new Stemmer();
    const words = splitQuery(text.toLowerCase()).filter((word) => !stopwords.includes(word) && !/^\d+$/.test(word));
    return words.map((word) => stemmer.stemWord(word));
  },

  // What was asked for, without words that ask.
  asked: (query) => {
    const spelled = splitQuery(query.toLowerCase()).map((word) => SPELLINGS[word] ?? word).join(" ");
    const words = spelled.split(" ");
    const subject = words.filter((word) => !ASKING.has(word));
    const stems = SearchRanking.stems((subject.length ? subject : words).join(" "));
    return { text: query.toLowerCase().trim(), spelled, stems: [...new Set(stems)] };
  },

  // The numbers of the files that an entry of the index lists.
  files: (entry) => (entry === undefined ? [] : [].concat(entry)),

  // Map of file -> 1 where it has the word in the part of the index, less where it has one that begins with it.
  places: (part, word) => {
    const found = new Map();
    const add = (entry, value) =>
      SearchRanking.files(entry).forEach((file) => found.set(file, Math.max(value, found.get(file) ?? 0)));
    if (word.length > 2) {
      const longer = Object.keys(part).filter((term) => term.startsWith(word) && term !== word);
      longer.forEach((term) => add(part[term], OF_A_BEGINNING));
    }
    if (Object.hasOwn(part, word)) add(part[word], 1);
    return found;
  },

  // Of each word asked for that the book has: how much it counts, and where it stands.
  weighed: (index, words) => {
    const n_pages = index.docnames.length;
    const parts = words.map((word) => {
      const text = SearchRanking.places(index.terms, word);
      const headings = SearchRanking.places(index.titleterms, word);
      const n_found = new Set([...text.keys(), ...headings.keys()]).size;
      return { word, text, headings, n_found, weight: Math.log(1 + n_pages / Math.max(1, n_found)) };
    });
    return parts.filter((part) => part.n_found);
  },

  // The headings of each file, and its phrases, which have no address: [text, address].
  headings: (index) => {
    const found = index.docnames.map(() => []);
    for (const [text, places] of Object.entries(index.alltitles))
      for (const [file, address] of places) if (text !== index.titles[file]) found[file].push([text, address]);
    return found;
  },

  // How much of what was asked for a text has, word by word.
  share: (text, weighed) => {
    const words = SearchRanking.stems(text);
    const has = (word) => words.includes(word) || (word.length > 2 && words.some((other) => other.startsWith(word)));
    return weighed.filter((part) => has(part.word)).reduce((sum, part) => sum + part.weight, 0);
  },

  has_phrase: (text, asked) => {
    const words = ` ${SearchRanking.stems(text).join(" ")} `;
    if (asked.stems.length && words.includes(` ${asked.stems.join(" ")} `)) return true;
    return text.toLowerCase().includes(asked.text) || text.toLowerCase().includes(asked.spelled);
  },

  // Whether all words of a text, or of its part before a bracket, are among those asked for.
  is_named: (text, asked) => {
    const words = SearchRanking.stems(text.split(" (")[0]);
    return words.length > 0 && words.every((word) => asked.stems.includes(word));
  },

  // Score of a file, and the heading that a reader is led to: [score, heading or undefined].
  score: (file, title, headings, weighed, asked) => {
    let matched = 0;
    let score = 0;
    for (const part of weighed) {
      const in_title = SearchRanking.share(title, [part]) > 0;
      const in_headings = (part.headings.get(file) ?? 0) * (in_title ? IN_TITLE : IN_HEADING);
      const strength = Math.max(in_headings, (part.text.get(file) ?? 0) * IN_TEXT);
      score += strength * part.weight;
      matched += strength > 0 ? part.weight : 0;
    }
    const all = weighed.reduce((sum, part) => sum + part.weight, 0);
    const texts = [title, ...headings.map(([text]) => text)];
    const phrases = [title, ...headings.filter(([, address]) => !address).map(([text]) => text)];
    const has_all = texts.some((text) => SearchRanking.has_phrase(text, asked));
    const named = phrases.filter((text) => SearchRanking.is_named(text, asked));
    const share = named.length || !all ? 1 : matched / all;
    const part_named = all ? Math.max(0, ...named.map((text) => SearchRanking.share(text, weighed) / all)) : 0;
    const times = (has_all ? WHOLE_PHRASE : 1) * (named.includes(title) ? TITLE_NAMED : 1 + part_named);

    const shares = headings.map((heading) => [SearchRanking.share(heading[0], weighed), heading]);
    const [most, heading] = shares.reduce((a, b) => (b[0] > a[0] ? b : a), [SearchRanking.share(title, weighed), undefined]);
    const led_to = heading?.[1] && most > LED_TO * all ? heading : undefined;
    // In scripts that words are cut differently in, the phrase alone is found.
    return [(score || Number(has_all)) * share * times, led_to];
  },

  // The pages found, the best last, as Sphinx shows them: [name, title, anchor, description, score, file name].
  results: (index, query) => {
    const asked = SearchRanking.asked(query);
    const weighed = SearchRanking.weighed(index, asked.stems);
    const headings = SearchRanking.headings(index);
    const found = index.docnames.map((name, file) => {
      const title = index.titles[file];
      const [score, heading] = SearchRanking.score(file, title, headings[file], weighed, asked);
      const shown = heading ? `${title} > ${heading[0]}` : title;
      return [name, shown, heading ? `#${heading[1]}` : "", null, score, index.filenames[file]];
    });
    const most = Math.max(...found.map((result) => result[4]));
    const good = found.filter((result) => result[4] > 0 && result[4] >= LEAST * most);
    return good.sort((a, b) => a[4] - b[4] || b[1].localeCompare(a[1]));
  },
};

// Sphinx's script is loaded after this one, and searches when the page is there.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search !== "undefined") Search._performSearch = (query) => SearchRanking.results(Search._index, query);
});
