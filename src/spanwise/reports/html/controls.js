"use strict";
// The controls of the examples: filters, keyboard, and downloads.
window.spanwiseControls = ({ data, state, list, visible, bucketTitle, without, more, redraw, agreement, locationOf, OUTCOMES }) => {
  const { $, make, number, address, query, go, copy, unfold, kept, KEPT } = window.spanwisePage;

  // ---- the controls ------------------------------------------------------------------------------
  const option = (value, text) => {
    const element = make("option", "", text);
    element.value = value;
    return element;
  };
  // One right, one wrong: all pairs if there are few systems, else the compared pair, either way round.
  const counts = { at: -1, of: new Map() };
  const alone = (one, other) => {
    if (counts.at !== data.at) Object.assign(counts, { at: data.at, of: new Map() });
    const key = `${one}\n${other}`;
    if (!counts.of.has(key)) {
      const [a, b] = [one, other].map((name) => data.systems.indexOf(name));
      counts.of.set(key, data.rows.reduce((sum, { gold }) => sum + gold.reduce((some, { outcomes }) => some + (outcomes[a] === 0 && outcomes[b] !== 0), 0), 0));
    }
    return counts.of.get(key);
  };
  const pairs = (choices) => {
    if (data.systems.length < 5) return data.systems.flatMap((one) => data.systems.filter((other) => other !== one).map((other) => [one, other]));
    const [a, b] = window.spanwisePair.shown().map((at) => data.systems[at]);
    const rows = [[a, b], [b, a]];
    const asked = choices.over && choices.outcome === "TP" && !rows.some(([one, other]) => one === choices.system && other === choices.over);
    return asked ? [...rows, [choices.system, choices.over]] : rows;
  };
  const fills = {
    unit: () => [["error", "errors"], ["gold", "gold mentions"], ["predicted", "predicted mentions"]],
    system: () => data.systems.map((name) => [name, visible(name)]),
    outcome: () => [["wrong", "not right"], ["TP", "right"], ["LE", data.outcomes.LE], ["BE", data.outcomes.BE],
      ["BEs", `– ${data.outcomes.BEs}`], ["BEl", `– ${data.outcomes.BEl}`], ["BEo", `– ${data.outcomes.BEo}`],
      ["LBE", data.outcomes.LBE], ["FN", data.outcomes.FN], ["FP", data.outcomes.FP]],
    gold: () => data.labels.map((name) => [name, visible(name)]),
    predicted: () => data.labels.map((name) => [name, visible(name)]),
    attribute: () => data.attributes.map((row) => [row.name, row.title]),
    bucket: (choices) => (data.attributes.find((row) => row.name === choices.attribute)?.buckets || []).map((name) => [name, bucketTitle(choices.attribute, name)]),
    tough: () => data.tough.map((name) => [name, data.toughWords[name]]),
    runs: () => data.owner.length > data.names.length ? [["all", "wrong in all runs"], ["some", "wrong in some runs"]] : [],
    over: (choices) => pairs(choices).map(([one, other]) => [JSON.stringify([one, other]), `${visible(one)} right, ${visible(other)} wrong (${number(alone(one, other))})`]),
  };
  const fill = (key, choices) => {
    const control = $(`by-${key}`);
    if (!control) return;
    const rows = fills[key](choices);
    control.replaceChildren(...(key === "unit" ? [] : [option("", control.dataset.any)]), ...rows.map(([value, text]) => option(value, text)));
    control.value = key === "over"
      ? choices.over && choices.outcome === "TP" && !choices.as ? JSON.stringify([choices.system, choices.over]) : ""
      : choices[key] ?? "";
    control.disabled = !rows.length || (key === "bucket" && !choices.attribute);
  };
  for (const key of Object.keys(fills)) {
    $(`by-${key}`)?.addEventListener("change", (event) => {
      const value = event.target.value, next = without(state.choices, key);
      if (key === "over") {
        delete next.outcome;
        delete next.as;
        if (value) {
          const [system, over] = JSON.parse(value);
          Object.assign(next, { system, over, outcome: "TP", unit: "gold" });
        }
      } else if (value) next[key] = value;
      if (key === "attribute") {
        delete next.bucket;
        if (value) next.bucket = data.attributes.find((row) => row.name === value).buckets[0];
      }
      if (key === "outcome" && value === "TP" && next.unit === "error") next.unit = "gold";
      if (key === "outcome" && value === "FP" && next.unit === "gold") next.unit = "error";
      if (key === "outcome" && value === "FN" && next.unit === "predicted") next.unit = "error";
      go(next);
    });
  }
  let typing = 0;
  $("q").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => go({ ...without(state.choices, "q"), q: $("q").value }), 250);
  });
  $("where").addEventListener("change", () => go({ ...without(state.choices, "where"), where: $("where").value.trim() }));
  $("more").addEventListener("click", more);
  $("clear").addEventListener("click", () => go({}));

  // ---- named filters, kept in the address --------------------------------------------------------
  const named = () => { try { return JSON.parse(kept.named || "[]").filter((row) => row.length === 2); } catch { return []; } };
  const keepNamed = (rows) => {
    const { place, choices } = address();
    kept.named = rows.length ? JSON.stringify(rows) : "";
    const text = query({ ...choices, named: kept.named });
    history.replaceState(null, "", `#${place || "overview"}${text ? `?${text}` : ""}`);
    drawNamed();
  };
  const drawNamed = () => {
    $("named").replaceChildren(...named().map(([name, text], place) => {
      const holder = make("span", "chip on"), open = make("a", "", visible(name)), off = make("button", "quiet", "×");
      open.href = `#examples?${text}`;
      off.setAttribute("aria-label", `remove the filter ${name}`);
      off.addEventListener("click", () => keepNamed(named().filter((_, at) => at !== place)));
      holder.append(open, off);
      return holder;
    }));
  };
  window.spanwiseKept = drawNamed;
  $("name-it").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = $("filter-name").value.trim();
    if (!name) return;
    const { unit, ...rest } = state.choices;
    keepNamed([...named().filter(([other]) => other !== name), [name, query({ unit, ...rest })]]);
    $("filter-name").value = "";
  });
  $("link").addEventListener("click", (event) => copy(event.target, location.href));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) { width = innerWidth; redraw(); }
  });

  // ---- keyboard ----------------------------------------------------------------------------------
  const cards = () => [...list.children];
  const step = (by) => {
    unfold($("examples"));
    let all = cards();
    const here = all.indexOf(document.activeElement.closest?.(".example"));
    if (by > 0 && here === all.length - 1 && !$("more").hidden) { more(); all = cards(); }
    const next = all[here < 0 ? 0 : Math.max(0, Math.min(all.length - 1, here + by))];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape") {
      if (field === $("q") && state.choices.q) go(without(state.choices, "q"));
      else if (!field && address().place === "examples" && Object.keys(address().choices).some((key) => !KEPT.includes(key))) go({});
      field?.blur();
    } else if (field) return;
    else if (event.key === "/") { event.preventDefault(); unfold($("examples")); $("examples").scrollIntoView(); $("q").focus({ preventScroll: true }); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (document.activeElement.classList.contains("example") && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    }
  });

  // ---- downloads ---------------------------------------------------------------------------------
  const textOf = (sentence, mention) => mention && sentence.tokens && mention.start >= 0
    ? sentence.tokens.slice(mention.start, mention.end).join(" ") : null;
  const ends = (sentence, mention) => !mention ? [null, null] : !sentence.offsets || mention.start < 0 ? [mention.start, mention.end]
    : [sentence.offsets[2 * mention.start], sentence.offsets[2 * mention.end - 1]];
  const rows = () => state.groups.flatMap(({ sentence, hits }) => hits.map((hit) => {
    const { gold, predicted, outcome } = hit, runs = agreement(hit, data.systems.indexOf(state.choices.system));
    const [goldStart, goldEnd] = ends(sentence, gold), [start, end] = ends(sentence, predicted);
    const side = gold || predicted;
    return {
      sentence: sentence.id, source: sentence.breaks ? locationOf(sentence, Math.max(side.start, 0)) : sentence.source, system: outcome < 0 ? null : state.choices.system,
      outcome: outcome < 0 ? null : OUTCOMES[outcome], ...(runs ? { runs: runs.runs, of_runs: runs.of } : {}),
      gold_label: gold ? data.labels[gold.label] : null, gold_start: goldStart, gold_end: goldEnd, gold_text: textOf(sentence, gold),
      predicted_label: predicted ? data.labels[predicted.label] : null, predicted_start: start, predicted_end: end,
      predicted_text: textOf(sentence, predicted),
      tough: gold ? data.tough.filter((_, bit) => (gold.tough >> bit) & 1) : [],
      buckets: Object.fromEntries(data.attributes.map((row, place) => [row.name, row.buckets[side.buckets[place]] ?? null])),
      text: sentence.tokens ? sentence.tokens.join(" ") : null,
    };
  }));
  // A cell that a spreadsheet would evaluate as a formula gets a leading quote, so that it stays text.
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const flat = Array.isArray(value) ? value.join(" ") : typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = /^[=+\-@\t\r\n]/.test(flat) ? `'${flat}` : flat;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const save = (name, text, type) => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  $("csv").addEventListener("click", () => {
    const all = rows(), columns = Object.keys(all[0] || { sentence: "" });
    save("examples.csv", [columns, ...all.map((row) => columns.map((column) => row[column]))].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n", "text/csv");
  });
  $("jsonl").addEventListener("click", () => save("examples.jsonl", rows().map((row) => `${JSON.stringify(row)}\n`).join(""), "application/jsonl"));

  return fill;
};
