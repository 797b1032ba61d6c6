"use strict";
// The examples: every mention or error that matches the choice in the address, each in its sentence,
// with one track for gold and one for every system.
(async () => {
  const { $, make, number, cut, address, go, follow, roomOf, KEPT } = window.spanwisePage;
  const list = $("list");
  const OUTCOMES = ["TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP"];
  const PAGE = 40, CONTEXT = 9, LONG = 70;

  // ---- unpack ------------------------------------------------------------------------------------
  const data = await window.spanwisePage.data;
  const unpack = () => {
    const [ids, sources, texts, golds, predictions, offsets, breaks] = data.sentences;
    // The mentions of a system are built on first use; a right one is stored as the index of its gold mention.
    const predicted = (place) => {
      const made = [];
      return (system) => made[system] ||= predictions[place][system].map((row) => {
        const [start, end, label, outcome, partner, buckets, parts, answer] = typeof row === "number" ? right(golds[place][row], row) : row;
        return { side: "predicted", place, system, start, end, label, outcome, partner, buckets, parts, answer };
      });
    };
    const right = ([start, end, label, , , , buckets, parts], partner) => [start, end, label, 0, partner, buckets, parts];
    data.rows = texts.map((text, place) => ({
      place, id: ids[place], source: sources[place], offsets: offsets[place], breaks: breaks[place],
      tokens: typeof text === "string" ? text.split(" ") : typeof text === "number" ? null : text,
      size: typeof text === "number" ? text : 0,
      gold: golds[place].map(([start, end, label, outcomes, partners, tough, buckets, parts]) =>
        ({ side: "gold", start, end, label, outcomes, partners, tough, buckets, parts })),
      predicted: predicted(place),
    }));
    for (const sentence of data.rows) sentence.size ||= sentence.tokens.length;
  };
  unpack();
  // A system with several runs is represented by one of them.
  const systemAt = (name) => {
    const at = data.systems.indexOf(name);
    if (at >= 0 || name === undefined) return at;
    return data.middle[data.names.indexOf(name)] ?? -1;
  };

  // For a system with several runs: in how many of them a mention or an error is wrong (or right).
  const agreement = (row, system) => {
    const runs = system < 0 ? [] : data.systems.map((_, run) => run).filter((run) => data.owner[run] === data.owner[system]);
    if (runs.length < 2 || row.outcome < 0) return null;
    const right = row.outcome === 0;
    const alike = (run) => row.gold ? (row.gold.outcomes[run] === 0) === right
      : data.rows[row.predicted.place].predicted(run).some((other) => other.start === row.predicted.start && other.end === row.predicted.end
        && other.label === row.predicted.label && (other.outcome === 0) === right);
    return { said: right ? "right" : "wrong", runs: runs.filter(alike).length, of: runs.length };
  };
  const agrees = (row, system, wanted) => {
    const found = agreement(row, system);
    return Boolean(found) && found.said === "wrong" && (found.runs === found.of) === (wanted === "all");
  };

  // ---- choose ------------------------------------------------------------------------------------
  const kinds = (name) => {
    if (!name) return null;
    if (name === "wrong") return new Set([1, 2, 3, 4, 5, 6, 7]);
    if (name === "BE") return new Set([2, 3, 4]);
    return new Set([OUTCOMES.indexOf(name)]);
  };
  const normal = (choices) => {
    const found = { ...choices };
    const system = systemAt(found.system), over = systemAt(found.over), unknown = system < 0;
    for (const key of KEPT) delete found[key];
    if (!unknown) found.system = data.systems[system];
    if (over >= 0) found.over = data.systems[over];
    if (found.predicted || found.outcome === "FP") found.unit ||= "error";
    found.unit ||= found.outcome || found.over ? (found.tough || found.over || found.outcome === "TP" ? "gold" : "error") : "error";
    if (unknown && (found.unit !== "gold" || found.outcome || found.over || found.runs)) found.system = data.systems[window.spanwisePair?.shown()[0] ?? data.middle[0]];
    return found;
  };
  // One event per gold mention, and one for each predicted mention that is not the partner of one.
  const events = (sentence, system) => {
    const rows = sentence.gold.map((gold) => {
      const partner = gold.partners[system];
      return { gold, predicted: partner < 0 ? null : sentence.predicted(system)[partner], outcome: gold.outcomes[system] };
    });
    sentence.predicted(system).forEach((predicted, place) => {
      const gold = predicted.partner < 0 ? null : sentence.gold[predicted.partner];
      if (gold && gold.partners[system] === place) return;
      rows.push({ gold, predicted, outcome: predicted.outcome, own: predicted });
    });
    return rows;
  };
  const candidates = (sentence, unit, system) => {
    if (unit === "predicted") {
      return sentence.predicted(system).map((predicted) => ({
        predicted, gold: predicted.partner < 0 ? null : sentence.gold[predicted.partner], outcome: predicted.outcome,
      }));
    }
    if (unit === "error") return events(sentence, system).filter((event) => event.outcome !== 0);
    return sentence.gold.map((gold) => ({
      gold, predicted: system < 0 || gold.partners[system] < 0 ? null : sentence.predicted(system)[gold.partners[system]],
      outcome: system < 0 ? -1 : gold.outcomes[system],
    }));
  };
  const choose = (choices) => {
    const system = data.systems.indexOf(choices.system), over = data.systems.indexOf(choices.over);
    const outcome = kinds(choices.outcome), theirs = kinds(choices.as || "wrong"), tough = data.tough.indexOf(choices.tough);
    const gold = choices.gold === undefined ? -1 : data.labels.indexOf(choices.gold);
    const predicted = choices.predicted === undefined ? -1 : data.labels.indexOf(choices.predicted);
    const attribute = data.attributes.findIndex((row) => row.name === choices.attribute);
    const bucket = attribute < 0 ? -1 : data.attributes[attribute].buckets.indexOf(choices.bucket);
    const wanted = (choices.q || "").toLowerCase();
    const meets = choices.where ? window.spanwiseWhere(choices.where, data) : null;
    const impossible = (choices.gold && gold < 0) || (choices.predicted && predicted < 0) ||
      (choices.bucket && bucket < 0) || (choices.tough && tough < 0);
    const pattern = choices.pattern ? new Set(data.patterns[system]?.[choices.pattern] || []) : null;
    const place = (sentence, row) => row.own || !row.gold ? `${sentence.place}p${sentence.predicted(system).indexOf(row.predicted)}` : `${sentence.place}g${sentence.gold.indexOf(row.gold)}`;
    const found = [];
    if (impossible) return found;
    for (const sentence of data.rows) {
      if (wanted && !(sentence.tokens || []).join(" ").toLowerCase().includes(wanted)) continue;
      const hits = candidates(sentence, choices.unit, system).filter((row) => {
        if (outcome && !outcome.has(row.outcome)) return false;
        if (gold >= 0 && row.gold?.label !== gold) return false;
        if (predicted >= 0 && row.predicted?.label !== predicted) return false;
        if (tough >= 0 && !(row.gold && (row.gold.tough >> tough) & 1)) return false;
        if (over >= 0 && !(row.gold && theirs.has(row.gold.outcomes[over]))) return false;
        const side = choices.unit === "predicted" ? row.predicted : row.gold || row.predicted;
        if (bucket >= 0 && side.buckets[attribute] !== bucket) return false;
        if (meets && !meets(side)) return false;
        if (pattern && !pattern.has(place(sentence, row))) return false;
        return !choices.runs || agrees(row, system, choices.runs);
      });
      if (!hits.length) continue;
      const hardest = Math.max(...hits.map((row) => row.gold ? row.gold.outcomes.filter((code) => code !== 0).length : 1));
      found.push({ sentence, hits, hardest, whole: false });
    }
    // Hardest first, that is, what most systems get wrong; then in file order.
    return found.sort((a, b) => b.hardest - a.hardest || a.sentence.place - b.sentence.place);
  };

  // ---- draw ---------------------------------------------------------------------------------------
  const canvas = make("canvas").getContext("2d");
  canvas.font = `15px ${getComputedStyle(document.body).fontFamily}`;
  const widths = new Map();
  const widthOf = (text) => {
    let width = widths.get(text);
    if (width === undefined) widths.set(text, width = canvas.measureText(text).width);
    return width;
  };
  const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/g, LETTERS = /\p{L}/gu;
  const rightToLeft = (tokens) => {
    const text = tokens.join("");
    return (text.match(RIGHT_TO_LEFT) || []).length * 2 > (text.match(LETTERS) || []).length;
  };
  const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\ufff9-\ufffb\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const visible = (text) => text.replace(UNSEEN, (character) => {
    const code = character.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
  const words = (code) => data.outcomes[OUTCOMES[code]];

  // A track of mentions, each in the first free row; a missed gold mention is shown as an outline.
  const track = (mentions) => {
    const ends = [];
    const rows = [...mentions].sort((a, b) => a.start - b.start || b.end - a.end);
    for (const mention of rows) {
      let row = ends.findIndex((end) => end <= mention.start);
      if (row < 0) row = ends.length;
      ends[row] = mention.end;
      mention.row = row;
    }
    return { rows, depth: Math.max(1, ends.length) };
  };
  // With many systems, show the compared pair and those in the filter, or all on request.
  const tracked = () => {
    const all = data.systems.map((_, system) => system);
    if (!window.spanwisePair || state.all) return all;
    const wanted = [...window.spanwisePair.shown(), data.systems.indexOf(state.choices.system), data.systems.indexOf(state.choices.over)];
    return all.filter((system) => wanted.includes(system));
  };
  const tracks = (sentence) => [
    { name: "gold", ...track(sentence.gold) },
    ...tracked().map((system) => ({
      name: data.systems[system],
      ...track([
        ...sentence.predicted(system),
        ...sentence.gold.filter((gold) => gold.outcomes[system] === 6)
          .map((gold) => ({ side: "missed", system, start: gold.start, end: gold.end, label: gold.label })),
      ]),
    })),
  ];

  // Where the line of a text ends that a token is in, and the location of a token.
  const lineAt = ({ breaks, size }, at) => {
    let found = 0;
    while (breaks && breaks[found + 2] <= at) found += 2;
    return breaks ? { number: breaks[found + 1], begin: breaks[found], end: breaks[found + 2] ?? size } : { number: 0, begin: 0, end: size };
  };
  const locationOf = (sentence, at) => sentence.breaks ? `${sentence.source.slice(0, -1)}${lineAt(sentence, at).number}` : sentence.source || sentence.id || "";
  // The tokens to show: all of a short sentence, else the neighbourhood of the hits.
  const pieces = (group) => {
    const size = group.sentence.size;
    if ((size <= LONG && !group.sentence.breaks) || group.whole) return [[0, size]];
    const near = [];
    for (const { gold, predicted } of group.hits) {
      for (const mention of [gold, predicted]) {
        if (!mention || mention.start < 0) continue;
        const begin = lineAt(group.sentence, mention.start).begin, end = lineAt(group.sentence, mention.end - 1).end;
        near.push([Math.max(begin, mention.start - CONTEXT), Math.min(end, mention.end + CONTEXT)]);
      }
    }
    near.sort((a, b) => a[0] - b[0]);
    const joined = [];
    for (const [start, end] of near) {
      const last = joined.at(-1);
      if (last && start <= last[1] + 3) last[1] = Math.max(last[1], end);
      else joined.push([start, end]);
    }
    return joined.length ? joined : [[0, Math.min(size, LONG)]];
  };
  const linesOf = (group, rows, room) => {
    const { sentence } = group;
    const least = new Map();
    for (const { rows: mentions } of rows) {
      for (const mention of mentions) {
        if (mention.end - mention.start > 1) continue;
        const label = mention.side === "missed" ? "missed" : data.labels[mention.label];
        least.set(mention.start, Math.max(least.get(mention.start) || 0, widthOf(visible(label)) * 0.74 + (mention.side === "gold" ? 14 : 30)));
      }
    }
    const lines = [];
    for (const [start, end] of pieces(group)) {
      let from = start, used = 0;
      for (let at = start; at < end; at++) {
        const text = sentence.tokens ? visible(sentence.tokens[at]) : "▒";
        const width = Math.max(widthOf(text) + 7, (least.get(at) || 0) + 2);
        if ((used + width > room || lineAt(sentence, at).begin === at) && at > from) {
          lines.push([from, at]);
          from = at;
          used = 0;
        }
        used += width;
      }
      if (from < end) lines.push([from, end]);
    }
    return lines;
  };
  const box = (mention, line, hits, above) => {
    const label = mention.side === "missed" ? "missed" : visible(data.labels[mention.label]);
    const right = mention.side === "predicted" && mention.outcome === 0;
    const kind = mention.side === "gold" ? "gold" : mention.side === "missed" ? "missed" : right ? "right" : "wrong";
    const element = make("span", `m ${kind}${hits.has(mention) ? " hit" : ""}`);
    const sign = { gold: "", missed: "", right: "✓ ", wrong: "✗ " }[kind];
    element.append(make("span", "", `${sign}${label}`));
    const start = Math.max(mention.start, line[0]), end = Math.min(mention.end, line[1]);
    if (mention.start < line[0]) element.classList.add("from");
    if (mention.end > line[1]) element.classList.add("on");
    element.style.gridColumn = `${start - line[0] + 1} / ${end - line[0] + 1}`;
    element.style.gridRow = String(above + mention.row);
    const told = mention.side === "predicted" ? words(mention.outcome) : mention.side === "missed" ? words(6) : "gold";
    element.dataset.says = `${mention.side === "missed" ? visible(data.labels[mention.label]) : label}: ${told}`;
    if (hits.has(mention)) element.dataset.hit = "";
    return element;
  };
  const named = (name) => {
    const most = innerWidth < 620 ? 8 : 12, element = make("span", "", cut(name, most));
    if (name.length > most) element.dataset.says = name;
    return element;
  };
  const drawLine = (group, rows, line, marked, hits) => {
    const { sentence } = group;
    const whole = make("div", "line");
    const names = make("div", "names"), grid = make("div", "grid");
    names.append(make("span", "", ""));
    if (sentence.tokens && rightToLeft(sentence.tokens)) grid.dir = "rtl";
    for (let at = line[0]; at < line[1]; at++) {
      const token = make("span", marked.has(at) ? "t marked" : "t", sentence.tokens ? visible(sentence.tokens[at]) : "▒");
      token.dir = "auto";
      token.style.gridColumn = String(at - line[0] + 1);
      grid.append(token);
    }
    let above = 2;
    const inside = (mention) => mention.start < line[1] && mention.end > line[0];
    const bare = !rows.some(({ rows: mentions }) => mentions.some(inside));
    for (const { name, rows: mentions, depth } of bare ? [] : rows) {
      for (let row = 0; row < depth; row++) names.append(named(row ? "" : visible(name)));
      for (const mention of mentions) {
        if (inside(mention)) grid.append(...segments(mention, line, hits, above));
      }
      above += depth;
    }
    whole.append(names, grid);
    return whole;
  };
  // A discontinuous mention is drawn part by part, joined by a thin line.
  const segments = (mention, line, hits, above) => {
    if (!mention.parts) return [box(mention, line, hits, above)];
    const drawn = mention.parts.filter(([start, end]) => start < line[1] && end > line[0])
      .map(([start, end], place) => box({ ...mention, start, end }, line, place ? new Set() : new Set(hits.has(mention) ? [mention] : []), above));
    if (drawn[0] && hits.has(mention)) { drawn[0].classList.add("hit"); drawn[0].dataset.hit = ""; }
    const join = make("span", "join");
    join.style.gridColumn = `${Math.max(mention.start, line[0]) - line[0] + 1} / ${Math.min(mention.end, line[1]) - line[0] + 1}`;
    join.style.gridRow = String(above + mention.row);
    return [join, ...drawn];
  };
  const told = (row) => {
    const label = (mention) => visible(data.labels[mention.label]);
    if (row.outcome < 0) return label(row.gold);
    if (row.outcome === 0) return `${label(row.gold || row.predicted)}, right`;
    if (row.outcome === 6) return `${label(row.gold)} missed`;
    if (row.outcome === 7) return `${label(row.predicted)} spurious`;
    const pair = row.gold && row.predicted && row.gold.label !== row.predicted.label
      ? `${label(row.gold)} → ${label(row.predicted)}` : label(row.gold || row.predicted);
    return `${pair}, ${words(row.outcome)}`;
  };
  const draw = (group) => {
    const { sentence, hits: found } = group;
    const card = make("article", "example");
    card.tabIndex = -1;
    const head = make("header");
    const source = make("span", "source");
    head.append(source);
    const system = data.systems.indexOf(state.choices.system);
    for (const row of found.slice(0, 6)) {
      const chip = make("span", "chip", told(row)), runs = agreement(row, system);
      if (runs) {
        const part = make("span", "runs", ` · ${runs.said} in ${runs.runs} of ${runs.of} runs`);
        Object.assign(part.dataset, { runs: runs.runs, of: runs.of });
        chip.append(part);
      }
      head.append(chip);
    }
    if (found.length > 6) head.append(make("span", "chip", `${found.length - 6} more`));
    for (const [bit, name] of data.tough.entries()) {
      if (bit < 3 && found.some((row) => row.gold && (row.gold.tough >> bit) & 1)) head.append(make("span", "chip quiet", data.toughWords[name]));
    }
    card.append(head);
    card.dataset.hits = String(found.length);
    const hits = new Set(found.map((row) => row.own || (state.choices.unit === "predicted" ? row.predicted : row.gold || row.predicted)));
    const marked = new Set();
    for (const mention of hits) for (let at = mention.start; at < mention.end; at++) marked.add(at);
    const rows = tracks(sentence);
    const lines = linesOf(group, rows, Math.max(160, roomOf(list) - state.names - 44)); // bold words are wider than measured
    source.textContent = visible(locationOf(sentence, lines[0]?.[0] ?? 0));
    let last = 0;
    for (const line of lines) {
      const here = locationOf(sentence, line[0]);
      if (line !== lines[0] && here !== locationOf(sentence, last - 1)) card.append(make("p", "source", visible(here)));
      else if (line[0] > last) card.append(make("p", "gap", `… ${number(line[0] - last)} tokens …`));
      card.append(drawLine(group, rows, line, marked, hits));
      last = line[1];
    }
    if (sentence.size > LONG) {
      const rest = sentence.size - last;
      if (rest > 0) card.append(make("p", "gap", `… ${number(rest)} tokens …`));
      const more = make("button", "quiet", group.whole ? "Show less" : `Show all ${number(sentence.size)} tokens`);
      more.addEventListener("click", () => { group.whole = !group.whole; card.replaceWith(draw(group)); });
      card.append(more);
    }
    const unplaced = [...hits].filter((mention) => mention.start < 0);
    if (unplaced.length) {
      const note = make("p", "gap", `${unplaced.length} predicted outside the aligned text: ${unplaced.map((m) => visible(data.labels[m.label]) + (m.answer ? ` “${visible(m.answer)}”` : "")).join(", ")}`);
      note.dataset.hits = String(unplaced.length);
      card.append(note);
    }
    return card;
  };

  // ---- show the examples of the address ----------------------------------------------------------
  const state = { choices: {}, groups: [], drawn: 0, names: 90, all: false };
  const more = () => {
    const next = state.groups.slice(state.drawn, state.drawn + PAGE);
    list.append(...next.map(draw));
    state.drawn += next.length;
    $("more").hidden = state.drawn >= state.groups.length;
    $("more").textContent = `Show ${number(Math.min(PAGE, state.groups.length - state.drawn))} more of ${number(state.groups.length)} sentences`;
  };
  const redraw = () => {
    const until = Math.max(PAGE, state.drawn);
    state.drawn = 0;
    state.names = innerWidth < 620 ? 58 : 90;
    list.replaceChildren();
    while (state.drawn < Math.min(until, state.groups.length)) more();
    if (!state.groups.length) $("more").hidden = true;
  };
  const NOUNS = { gold: ["gold mention", "gold mentions"], predicted: ["predicted mention", "predicted mentions"], error: ["error", "errors"] };
  const noun = (unit, count) => NOUNS[unit][count === 1 ? 0 : 1];
  // Whether a filter may match right mentions, whose sentences may not all be in the page.
  const rightToo = (choices) => choices.unit !== "error" && [undefined, "", "TP"].includes(choices.outcome);
  const why = (choices) => {
    const { policy, shown, of } = data.examples;
    if (data.redacted) return "text was left out (--redact)";
    if (policy === "none") return "examples were left out (--examples none)";
    const reasons = [];
    if (policy === "errors" && rightToo(choices)) reasons.push(`sentences that every system got right are left out (${data.sets.length > 1 ? "examples = \"all\"" : "--examples all"} keeps them)`);
    if (shown < of) reasons.push(`the page holds ${number(shown)} of ${number(of)} sentences`);
    return reasons.join("; ");
  };
  const summary = (choices, count) => {
    const of = Number(choices.of), unit = choices.unit, within = `in ${number(state.groups.length)} ${state.groups.length === 1 ? "sentence" : "sentences"}`;
    if (Number.isFinite(of) && choices.of !== undefined && of !== count) {
      return `${number(count)} of ${number(of)} ${noun(unit, of)} shown, ${within}: ${why(choices)}`;
    }
    const complete = Number.isFinite(of) && choices.of !== undefined;
    const partial = !complete && (data.examples.shown < data.examples.of || (rightToo(choices) && data.examples.policy === "errors"));
    return `${number(count)} ${noun(unit, count)} ${within}, hardest first${partial ? ` (${why(choices)})` : ""}`;
  };
  const CHIPS = [
    ["system", (value) => value], ["outcome", (value) => value === "wrong" ? "not right" : data.outcomes[value] || value],
    ["gold", (value) => `gold ${value}`], ["predicted", (value) => `predicted ${value}`],
    ["bucket", (value, all) => `${(data.attributes.find((row) => row.name === all.attribute) || {}).title || all.attribute}: ${bucketTitle(all.attribute, value)}`],
    ["tough", (value) => data.toughWords[value] || value], ["where", (value) => value], ["pattern", (value) => value],
    ["runs", (value) => value === "all" ? "wrong in all runs" : "wrong in some runs"],
    ["over", (value, all) => `${value} ${{ TP: "right", wrong: "wrong" }[all.as || "wrong"] || data.outcomes[all.as] || all.as}`], ["q", (value) => `“${value}”`],
  ];
  const bucketTitle = (attribute, bucket) => {
    const row = data.attributes.find((one) => one.name === attribute);
    const place = row ? row.buckets.indexOf(bucket) : -1;
    if (place < 0) return bucket;
    return row.titles[place] === bucket ? bucket : `${bucket} ${row.titles[place]}`;
  };
  const without = (choices, key) => {
    const rest = { ...choices };
    delete rest[key];
    delete rest.of;
    if (key === "bucket") delete rest.attribute;
    if (key === "over") delete rest.as;
    return rest;
  };
  const chips = (choices) => {
    const row = $("chips");
    row.replaceChildren();
    for (const [key, text] of CHIPS) {
      if (!choices[key]) continue;
      const chip = make("button", "chip on", `${visible(text(choices[key], choices))} ×`);
      chip.setAttribute("aria-label", `remove filter ${text(choices[key], choices)}`);
      chip.addEventListener("click", () => go(without(choices, key)));
      row.append(chip);
    }
  };
  const count = (groups) => groups.reduce((sum, group) => sum + group.hits.length, 0);
  const show = (given, scroll) => {
    const choices = normal(given);
    state.choices = choices;
    let trouble = "";
    try {
      state.groups = choose(choices);
    } catch (error) {
      state.groups = [];
      trouble = error.message;
    }
    state.drawn = 0;
    const total = count(state.groups);
    $("summary").textContent = trouble ? `${trouble}.` : summary(choices, total);
    $("summary").dataset.count = String(total);
    $("summary").dataset.shows = location.hash;
    chips(choices);
    if (trouble) $("filter-score").replaceChildren();
    else score(choices);
    for (const key of ["unit", "system", "outcome", "gold", "predicted", "attribute", "bucket", "tough", "runs", "over"]) fill(key, choices);
    $("q").value = choices.q || "";
    $("where").value = choices.where || "";
    redraw();
    if (scroll) $("examples").scrollIntoView();
  };

  $("tracks")?.addEventListener("click", (event) => {
    state.all = !state.all;
    event.target.setAttribute("aria-pressed", String(state.all));
    redraw();
  });
  const score = window.spanwiseScore({ data, visible });
  const fill = window.spanwiseControls({ data, state, list, visible, bucketTitle, without, more, redraw, agreement, locationOf, OUTCOMES });
  window.spanwiseAll = () => { while (state.drawn < Math.min(state.groups.length, 2000)) more(); };
  window.spanwiseShow = show;
  // Update the sentences after a change of dataset or pair.
  window.spanwiseTurn = (other) => {
    if (other) unpack();
    const { place, choices } = address();
    show(place === "examples" ? choices : {}, false);
  };
  const asked = address();
  show(asked.place === "examples" ? asked.choices : {}, false);
  document.documentElement.dataset.ready = "yes";
  follow();
})();
