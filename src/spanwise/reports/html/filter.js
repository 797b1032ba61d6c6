"use strict";
// The score of the mentions that a filter leaves: counted in the sentences of the page, or as the document has it.
window.spanwiseScore = ({ data, sentences, pair }) => {
  const { $, make, number } = window.spanwisePage;
  const CONDITIONS = ["gold", "tough", "bucket", "where", "q"];
  const points = (value) => value === null ? "n/a" : (100 * value).toFixed(1);
  const key = (choices, given) => {
    if (!given.length) return "";
    if (given.length > 1 || given[0] === "q" || given[0] === "where") return null;
    return given[0] === "bucket" ? `bucket\n${choices.attribute}\n${choices.bucket}` : `${given[0]}\n${choices[given[0]]}`;
  };
  const complete = data.examples.policy === "all" && data.examples.shown === data.examples.of;

  // Gold, predicted and correct of one system; predicted mentions are in no tough subset.
  const counted = (choices, system) => {
    const label = data.labels.indexOf(choices.gold), tough = data.tough.indexOf(choices.tough);
    const attribute = data.attributes.findIndex((row) => row.name === choices.attribute);
    const bucket = attribute < 0 ? -1 : data.attributes[attribute].buckets.indexOf(choices.bucket);
    const wanted = (choices.q || "").toLowerCase();
    const meets = choices.where ? window.spanwiseWhere(choices.where, data) : () => true;
    const fits = (mention) => (!choices.gold || mention.label === label) && (!choices.bucket || mention.buckets[attribute] === bucket) && meets(mention);
    let gold = 0, predicted = 0, correct = 0;
    for (const sentence of sentences) {
      if (wanted && !(sentence.tokens || []).join(" ").toLowerCase().includes(wanted)) continue;
      for (const mention of sentence.gold) {
        if (!fits(mention) || (choices.tough && !((mention.tough >> tough) & 1))) continue;
        gold += 1;
        correct += mention.outcomes[system] === 0;
      }
      predicted += sentence.systems[system].filter(fits).length;
    }
    return [gold, choices.tough ? null : predicted, correct];
  };
  const divided = (above, below) => below ? above / below : null;
  const scores = ([gold, predicted, correct, low, high]) => ({
    gold, predicted, correct, recall: divided(correct, gold),
    precision: predicted === null ? null : divided(correct, predicted),
    f1: predicted === null ? null : divided(2 * correct, gold + predicted),
    range: low === undefined || low === null ? "" : ` (${points(low)}–${points(high)})`,
  });

  return (choices) => {
    const holder = $("filter-score");
    // What is chosen by its outcome has no score, and a predicted label alone chooses errors.
    const given = CONDITIONS.filter((name) => choices[name]);
    const known = data.known[key(choices, given)];
    holder.replaceChildren();
    if (choices.predicted) return;
    if (!known && !complete) {
      holder.append(make("p", "note", "The score of these mentions needs every sentence in the page (--examples all)."));
      return;
    }
    const shown = pair ? pair.shown() : data.systems.map((_, system) => system);
    const table = make("table"), head = make("tr"), body = make("tbody"), top = make("thead");
    for (const text of ["score here", "P", "R", "F1", "gold", "predicted", "right"]) {
      const one = make("th", text === "score here" ? "" : "r", text);
      one.scope = "col";
      head.append(one);
    }
    for (const [place, system] of shown.entries()) {
      const row = scores(known ? known[system] : counted(choices, system)), line = make("tr");
      const name = make("th", `k${pair ? place : system % 6} named`);
      name.scope = "row";
      name.append(make("bdi", "", `${pair ? `${"AB"[place]} ` : ""}${data.systems[system]}`));
      line.append(name);
      const range = row.predicted === null ? ["", row.range, ""] : ["", "", row.range];
      [row.precision, row.recall, row.f1].forEach((value, at) => line.append(make("td", "r", `${points(value)}${value === null ? "" : range[at]}`)));
      for (const value of [row.gold, row.predicted, row.correct]) line.append(make("td", "r", value === null ? "" : number(value)));
      Object.assign(line.dataset, { system: data.systems[system], gold: row.gold, predicted: row.predicted, correct: row.correct });
      body.append(line);
    }
    top.append(head);
    table.append(top, body);
    holder.append(table);
  };
};
