"use strict";
// The score of the mentions that match a filter, with its interval: counted from the codes of all mentions; from the
// sentences of the page, for text searches and older documents without codes; or taken from the document.
window.spanwiseScore = ({ data, visible }) => {
  const { $, make, number, cut } = window.spanwisePage;
  const CONDITIONS = ["gold", "tough", "bucket", "where", "q"], FEW = 50;
  const points = (value) => value === null ? "n/a" : (100 * value).toFixed(1);
  const key = (choices, given) => {
    if (!given.length) return "";
    if (given.length > 1 || given[0] === "q" || given[0] === "where") return null;
    return given[0] === "bucket" ? `bucket\n${choices.attribute}\n${choices.bucket}` : `${given[0]}\n${choices[given[0]]}`;
  };
  // A text search needs the sentences, and the page must hold all of them.
  const complete = (choices) => {
    const { policy, shown, of } = data.examples;
    return (Boolean(data.codes?.gold) && !choices.q) || (policy === "all" && shown === of);
  };

  // Why no score is shown, and how to get it.
  const missing = (choices) => {
    const { policy, shown, of } = data.examples, option = (name, value) => data.sets.length > 1 ? `${name} = ${value}` : `--${name.replace("_", "-")} ${value.replaceAll('"', "")}`;
    if (data.codes && !data.codes.gold && !choices.q) return `a document keeps at most ${number(data.codes.cap)} mentions of gold and all systems, and here there are ${number(data.codes.number)} (evaluate fewer systems at a time, or use --columns FILE and the workbench).`;
    if (policy === "none") return `it would have to be counted from sentences, and the page holds none (${option("examples", '"errors"')} keeps them).`;
    if (shown !== of) return `it would have to be counted from all sentences with errors, and the page holds ${number(shown)} of ${number(of)} (${option("examples_cap", String(of))} keeps them).`;
    return `${choices.q ? "sentences are searched by their text" : "this document of an earlier version counts right mentions by single filters only"}, and sentences that every system got right are left out (${option("examples", '"all"')} keeps them).`;
  };

  // ---- gold, predicted and correct counts per unit of one system; tough subsets hold only gold mentions --
  const condition = (choices) => {
    const label = data.labels.indexOf(choices.gold), tough = data.tough.indexOf(choices.tough);
    const attribute = data.attributes.findIndex((row) => row.name === choices.attribute);
    const bucket = attribute < 0 ? -1 : data.attributes[attribute].buckets.indexOf(choices.bucket);
    const meets = choices.where ? window.spanwiseWhere(choices.where, data) : null;
    const fits = (mention) => {
      if (choices.gold && mention.label !== label) return false;
      if (choices.tough && mention.side === "gold" && !((mention.tough >> tough) & 1)) return false;
      if (choices.bucket && mention.buckets[attribute] === undefined) throw new Error(`${data.attributes[attribute].title} was not bucketed in the same way for all systems`);
      if (choices.bucket && mention.buckets[attribute] !== bucket) return false;
      return !meets || meets(mention);
    };
    return { fits, goldOnly: Boolean(choices.tough || meets?.tough) };
  };
  const perUnit = () => {
    const units = new Map();
    return [units, (at) => units.get(at) || units.set(at, [0, 0, 0]).get(at)];
  };
  // Numbers are encoded as characters, with FIRST as 0; units as steps from the previous one.
  const FIRST = 40, SAME = 1, OTHER = 2;
  const numbers = (column) => typeof column === "string" ? Int32Array.from({ length: column.length }, (_, at) => column.charCodeAt(at) - FIRST) : column;
  const sideOf = ([unit, label, buckets, tough], side) => {
    const found = { side, unit: numbers(unit), label: numbers(label), buckets: buckets.map((one) => one && numbers(one)), tough: tough && numbers(tough) };
    if (typeof unit === "string") for (let at = 1; at < found.unit.length; at++) found.unit[at] += found.unit[at - 1];
    return found;
  };
  const unpacked = (codes) => codes.unpacked ||= { gold: sideOf(codes.gold, "gold"), systems: [] };
  const systemOf = (codes, system) => {
    const [found, ...side] = codes.systems[system];
    return unpacked(codes).systems[system] ||= { found: numbers(found), others: sideOf(side, "predicted") };
  };
  const fitting = (side, fits) => {
    const mention = { side: side.side, buckets: [] }, held = new Uint8Array(side.unit.length);
    for (let at = 0; at < held.length; at++) {
      mention.label = side.label[at];
      mention.tough = side.tough ? side.tough[at] : 0;
      for (let place = 0; place < side.buckets.length; place++) mention.buckets[place] = side.buckets[place]?.[at];
      held[at] = fits(mention);
    }
    return held;
  };
  const fromCodes = (choices, system) => {
    const { fits, goldOnly } = condition(choices), [units, unit] = perUnit();
    const { gold } = unpacked(data.codes), { found, others } = systemOf(data.codes, system);
    const inside = fitting(gold, fits), theirs = goldOnly ? null : fitting(others, fits);
    let paired = 0;
    for (let at = 0; at < inside.length; at++) {
      const partner = found[at] === OTHER ? paired++ : -1;
      if (!inside[at]) continue;
      const row = unit(gold.unit[at]), same = found[at] === SAME;
      row[0] += 1;
      row[1] += same;
      row[2] += same || (partner >= 0 && (goldOnly || theirs[partner] === 1));
    }
    if (theirs) for (let at = 0; at < theirs.length; at++) if (theirs[at]) unit(others.unit[at])[1] += 1;
    return [[...units.values()], goldOnly, true];
  };
  const fromSentences = (choices, system) => {
    const { fits, goldOnly } = condition(choices), [units, unit] = perUnit(), known = Array.isArray(data.units);
    const wanted = (choices.q || "").toLowerCase();
    for (const sentence of data.rows) {
      if (wanted && !(sentence.tokens || []).join(" ").toLowerCase().includes(wanted)) continue;
      const row = unit(known ? data.units[sentence.place] : 0), predicted = sentence.predicted(system);
      for (const mention of sentence.gold) {
        if (!fits(mention)) continue;
        row[0] += 1;
        row[2] += mention.outcomes[system] === 0 && (goldOnly || fits(predicted[mention.partners[system]]));
      }
      if (!goldOnly) row[1] += predicted.filter(fits).length;
    }
    return [[...units.values()], goldOnly, known];
  };
  const counted = (choices, system) => data.codes?.gold && !choices.q ? fromCodes(choices, system) : fromSentences(choices, system);

  // ---- logit-t intervals from the jackknife over units, Wilson's at 0 and 1 ---------------------------
  // Student's quantile: Cornish and Fisher's expansion, below 60 degrees of freedom a polynomial of 1/freedom.
  const quantile = (f) => {
    const { z, t: [first, ...others] } = data;
    if (f > 60) {
      return z + (z ** 3 + z) / 4 / f + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96 / f ** 2 + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384 / f ** 3
        + (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160 / f ** 4;
    }
    const x = (2 / f - 1 - 1 / 60) / (1 - 1 / 60);
    let later = 0, last = 0;
    for (const coefficient of others.reverse()) [later, last] = [2 * x * later - last + coefficient, later];
    return Math.exp(first / 2 + x * later - last);
  };
  // Fewer degrees of freedom where few units carry the score, or its errors.
  const freedom = (held, value, above, below, still) => {
    const n = held.length, sums = [0, 0, 0, 0];
    for (const row of held) {
      const w = below(row), r = (above(row) - value * w) ** 2;
      [w, w * w, r, r * r].forEach((part, at) => { sums[at] += part; });
    }
    const [w, w2, r2, r4] = sums, excess = still || !r2 ? 0 : n * r4 / (r2 * r2) - 1;
    return Math.max(1, Math.min(n - 1, w * w / w2 - 1, excess > 0 ? 2 * n / excess : Infinity));
  };
  const interval = (units, above, below, size) => {
    const total = [above, below].map((part) => units.reduce((sum, row) => sum + part(row), 0));
    const value = total[1] ? total[0] / total[1] : null;
    const held = units.filter((row) => below(row) > 0), n = held.length;
    if (value === null || n < 2) return null;
    let sum = 0, square = 0;
    for (const row of held) {
      const rest = total[1] - below(row), deviation = rest ? (total[0] - above(row)) / rest - value : 0;
      sum += deviation;
      square += deviation * deviation;
    }
    let spread = Math.max(square - sum * sum / n, 0);
    if (spread < 1e-13 * square) spread = 0;
    const error = Math.sqrt(spread * (n - 1) / n), t = quantile(freedom(held, value, above, below, error < 1e-12));
    if (value > 0 && value < 1 && error >= 1e-12) {
      const odds = Math.log(value / (1 - value)), reach = t * error / (value * (1 - value)), back = (x) => 1 / (1 + Math.exp(-x));
      return [back(odds - reach), back(odds + reach)];
    }
    const inverse = 1 / size(total[1]), under = 1 + t * t * inverse, centre = (value + t * t * inverse / 2) / under;
    const half = t * Math.sqrt(value * (1 - value) * inverse + (t * inverse / 2) ** 2) / under;
    return [value <= 0 ? 0 : Math.max(centre - half, 0), value >= 1 ? 1 : Math.min(centre + half, 1)];
  };
  const SCORES = {
    precision: [([, , correct]) => correct, ([, predicted]) => predicted, (below) => below],
    recall: [([, , correct]) => correct, ([gold]) => gold, (below) => below],
    f1: [([, , correct]) => 2 * correct, ([gold, predicted]) => gold + predicted, (below) => below / 2],
  };
  const divided = (above, below) => below ? above / below : null;
  const scores = (choices, system, known) => {
    const [units, goldOnly, sampled] = complete(choices) ? counted(choices, system) : [null, Boolean(choices.tough), false];
    const [gold, predicted, correct] = units ? [0, 1, 2].map((at) => units.reduce((sum, row) => sum + row[at], 0)) : known[system];
    const found = { gold, predicted: goldOnly ? null : predicted, correct };
    for (const [name, [above, below, size]] of Object.entries(SCORES)) {
      const whole = [gold, predicted, correct], one = goldOnly && name !== "recall";
      found[name] = one ? null : divided(above(whole), below(whole));
      found[`${name}Ends`] = one || !sampled ? null : interval(units, above, below, size);
    }
    const [low, high] = known ? known[system].slice(3) : [];
    if (low !== undefined && low !== null) found[goldOnly ? "recallEnds" : "f1Ends"] = [low, high];
    return found;
  };

  return (choices) => {
    const holder = $("filter-score"), pair = window.spanwisePair;
    // Mentions filtered by outcome have no score; a predicted label or a pattern alone selects errors.
    const given = CONDITIONS.filter((name) => choices[name]);
    const known = data.known[key(choices, given)];
    holder.replaceChildren();
    if (choices.predicted || choices.pattern) return;
    if (!known && !complete(choices)) {
      holder.append(make("p", "note", `No score is shown: ${missing(choices)}`));
      return;
    }
    const shown = pair ? pair.shown() : data.systems.map((_, system) => system);
    let rows;
    try {
      rows = shown.map((system) => scores(choices, system, known));
    } catch (error) {
      holder.append(make("p", "note", `No score is shown: ${error.message}.`));
      return;
    }
    const table = make("table"), head = make("tr"), body = make("tbody"), top = make("thead");
    for (const text of ["score of these mentions", "P", "R", "F1", "gold", "predicted", "right"]) {
      const one = make("th", text.startsWith("score") ? "" : "r", text);
      one.scope = "col";
      head.append(one);
    }
    for (const [place, system] of shown.entries()) {
      const row = rows[place], line = make("tr");
      const name = make("th", `${pair ? pair.colour(place) : `k${system % 6}`} named`);
      name.scope = "row";
      const whole = visible(data.systems[system]), said = cut(whole, 18); // leaves room for P, R and F1
      name.append(make("bdi", "", `${pair ? `${"AB"[place]} ` : ""}${said}`));
      if (said !== whole) name.dataset.says = whole;
      line.append(name);
      for (const score of ["precision", "recall", "f1"]) {
        const cell = make("td", "r", points(row[score])), ends = row[`${score}Ends`];
        if (ends && row[score] !== null) cell.append(" ", make("small", "", `(${points(ends[0])}–${points(ends[1])})`));
        line.append(cell);
        if (ends) line.dataset[score] = ends.join(" ");
      }
      const counts = [row.gold, row.predicted, row.correct].map((value) => make("td", "r", value === null ? "" : number(value)));
      if (row.gold < FEW) {
        const mark = make("small", "few", "few");
        mark.dataset.says = `${number(row.gold)} mentions: fewer than ${FEW}`;
        counts[0].prepend(mark, " ");
      }
      line.append(...counts);
      Object.assign(line.dataset, { system: data.systems[system], gold: row.gold, predicted: row.predicted, correct: row.correct });
      body.append(line);
    }
    top.append(head);
    table.append(top, body);
    holder.append(table);
  };
};
