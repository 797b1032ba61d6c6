// How the search of the documentation orders what it finds: how-tos and definitions before the reference.
var Scorer = {
  score: ([page, , , , score]) =>
    score + (page.startsWith("howto/") ? 20 : page.startsWith("definitions/") ? 10
      : /^reference\/generated\/(keys|commands|api-documents)$|^changelog$/.test(page) ? -20 : 0),
  // as Sphinx has them
  objNameMatch: 11, objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7,
  term: 5, partialTerm: 2,
};
