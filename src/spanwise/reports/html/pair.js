"use strict";
// The pair of systems that a page with three or more is about: headline, findings, tests and charts follow it.
(async () => {
  const { $, make, number } = window.spanwisePage;
  if (!$("pair")) return;
  const data = await window.spanwisePage.data;
  const { board, systems } = data;
  const now = { a: 0, b: 1 };
  const MINUS = "\u2212";
  const points = (value) => value === null || value === undefined ? "n/a" : value.toFixed(1).replace("-0.0", "0.0").replace("-", MINUS);
  const signed = (value) => {
    if (value === null || value === undefined) return "n/a";
    const text = Math.abs(value).toFixed(1);
    return text === "0.0" ? text : (value > 0 ? "+" : MINUS) + text;
  };
  const address = (choices) => `#examples?${Object.entries(choices).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join(",")}`;
  const link = (text, choices) => {
    const element = make("a", "n", text);
    element.href = address(choices);
    return element;
  };
  const cell = (row, cls, ...content) => {
    const element = make("td", cls);
    element.append(...content);
    row.append(element);
    return element;
  };
  const heading = (text) => {
    const element = make("th", "", text);
    element.scope = "row";
    return element;
  };
  const table = (heads, caption) => {
    const element = make("table"), head = make("tr");
    if (caption) element.append(make("caption", "", caption));
    for (const [text, cls] of heads) {
      const one = make("th", cls || "", text);
      one.scope = "col";
      head.append(one);
    }
    const top = make("thead"), body = make("tbody");
    top.append(head);
    element.append(top, body);
    return [element, body];
  };
  const region = (content, label) => {
    const element = make("div", "scroll");
    element.tabIndex = 0;
    element.setAttribute("role", "region");
    element.setAttribute("aria-label", label);
    element.append(content);
    return element;
  };

  // ---- the tests and the scores of a pair, A first -------------------------------------------------
  const pairOf = () => board.pairs[now.a < now.b ? `${now.a},${now.b}` : `${now.b},${now.a}`];
  const turn = () => now.a < now.b ? 1 : -1;
  const testOf = (at) => {
    const test = pairOf().tests[at];
    if (!test) return null;
    const [difference, low, high, p, significant] = test;
    if (turn() > 0) return { difference, low, high, p, significant };
    const flip = (value) => value === null ? null : -value;
    return { difference: flip(difference), low: flip(high), high: flip(low), p, significant };
  };

  // ---- charts: one row a score, a mark and its interval for each of the two ---------------------------
  const SVG = "http://www.w3.org/2000/svg";
  const shape = (parent, tag, cls, attributes) => {
    const element = document.createElementNS(SVG, tag);
    element.setAttribute("class", cls);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  };
  const track = (scores, [low, high], says) => {
    const element = document.createElementNS(SVG, "svg");
    element.setAttribute("viewBox", "0 0 160 22");
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", says);
    const at = (value) => (6 + 148 * (value - low) / (high - low || 1)).toFixed(1);
    shape(element, "line", "base", { x1: 0, x2: 160, y1: 11, y2: 11 });
    scores.forEach((score, which) => {
      if (!score) return;
      const y = which ? 16 : 6;
      if (score.length > 1) shape(element, "line", `k${which} range`, { x1: at(score[1]), x2: at(score[2]), y1: y, y2: y });
      shape(element, "circle", `k${which} mark`, { cx: at(score[0]), cy: y, r: 4 });
    });
    return element;
  };
  const drawGroup = (group, first) => {
    const rows = group.rows.map((row, place) => ({ row, at: first + place, scores: [now.a, now.b].map((system) => board.scores[system][first + place]) }));
    const ends = rows.flatMap(({ scores }) => scores.flatMap((score) => score || []));
    const domain = [Math.min(...ends), Math.max(...ends)];
    const [element, body] = table([["score"], ["n", "r"], ["A and B", "track"], ["A", "r"], ["B", "r"], ["A \u2212 B", "r"], ["95%", "r wideonly"], ["p", "r"]]);
    for (const { row, at, scores } of rows) {
      if (!scores[0] && !scores[1]) continue;
      const test = testOf(at), line = make("tr", test && !test.significant ? "weak" : "");
      const name = heading(row.title);
      if (row.under) name.append(" ", make("small", "", row.under));
      line.append(name);
      const chosen = Object.keys(row.choose).length > 0, errors = row.choose.unit === "error";
      cell(line, "r", row.count === null ? "" : chosen ? link(number(row.count), { unit: "gold", ...row.choose, of: row.count }) : number(row.count));
      const said = scores.map((score, which) => `${"AB"[which]} ${points(score?.[0])}`).join(", ");
      cell(line, "track", track(scores, domain, `${row.title}: ${said}`));
      scores.forEach((score, which) => {
        const text = points(score?.[0]), system = systems[which ? now.b : now.a];
        cell(line, "r", chosen && score ? link(text, errors ? { unit: "error", system, outcome: row.choose.outcome } : { unit: "gold", system, outcome: "wrong", ...row.choose }) : text);
      });
      const difference = test ? test.difference : scores[0] && scores[1] ? scores[0][0] - scores[1][0] : null;
      const strong = make(test?.significant ? "b" : "span", "", signed(difference));
      cell(line, "r", strong);
      cell(line, "r wideonly", test && test.low !== null ? `${signed(test.low)} to ${signed(test.high)}` : "");
      cell(line, "r", test ? test.p : "");
      body.append(line);
    }
    const section = make("section");
    section.append(make("h3", "", group.title), make("p", "note", group.note), region(element, group.title));
    return section;
  };

  // ---- who gets what right, and the parts of the lead --------------------------------------------------
  const KINDS = ["TP", "LE", "BE", "LBE", "FN"], KIND_OF = [0, 1, 2, 2, 2, 3, 4];
  const outcomes = () => {
    const counts = KINDS.map(() => KINDS.map(() => 0));
    let seen = 0;
    for (const golds of data.sentences[3]) {
      for (const gold of golds) {
        counts[KIND_OF[gold[3][now.a]]][KIND_OF[gold[3][now.b]]] += 1;
        seen += 1;
      }
    }
    // Sentences that every system got right are not in the page, and hold nothing but right mentions.
    counts[0][0] += board.mentions - seen;
    return counts;
  };
  const complete = () => data.examples.policy !== "none" && data.examples.shown === data.examples.of;
  const drawRight = () => {
    const section = make("section"), [a, b] = [systems[now.a], systems[now.b]];
    section.append(make("h3", "", "Who gets what right"));
    if (!complete()) {
      section.append(make("p", "note", `It is counted from the sentences, of which the page holds ${number(data.examples.shown)} of ${number(data.examples.of)}.`));
      return section;
    }
    const counts = outcomes();
    const sum = (rows, columns) => rows.reduce((all, i) => all + columns.reduce((some, j) => some + counts[i][j], 0), 0);
    const wrong = [1, 2, 3, 4];
    const onlyA = sum([0], wrong), onlyB = sum(wrong, [0]);
    section.append(make("p", "note", `Gold mentions by what became of them: rows A, columns B. A alone is right ${number(onlyA)} times, B alone ${number(onlyB)} times.`));
    const [two, body] = table([["gold mentions"], ["B right", "r"], ["B wrong", "r"]]);
    const rows = [
      ["A right", number(counts[0][0]), onlyA ? link(number(onlyA), { unit: "gold", system: a, outcome: "TP", over: b, of: onlyA }) : "0"],
      ["A wrong", onlyB ? link(number(onlyB), { unit: "gold", system: b, outcome: "TP", over: a, of: onlyB }) : "0",
        link(number(sum(wrong, wrong)), { unit: "gold", system: a, outcome: "wrong", over: b, of: sum(wrong, wrong) })],
    ];
    for (const [name, ...cells] of rows) {
      const line = make("tr");
      line.append(heading(name));
      for (const one of cells) cell(line, "r", one);
      body.append(line);
    }
    section.append(two);
    const title = (kind) => kind === "TP" ? "right" : data.outcomes[kind];
    const [all, inner] = table([["A \u2193 B \u2192"], ...KINDS.map((kind) => [title(kind), "r"])]);
    KINDS.forEach((kind, i) => {
      const line = make("tr");
      line.append(heading(title(kind)));
      KINDS.forEach((_, j) => cell(line, `r${i === j ? " weak" : ""}`, number(counts[i][j])));
      inner.append(line);
    });
    section.append(region(all, "Outcomes of A against outcomes of B"));
    return section;
  };
  const drawParts = () => {
    const section = make("section"), parts = pairOf().parts, names = Object.keys(parts);
    if (!names.length) return section;
    section.append(make("h3", "", "Where the lead comes from"));
    section.append(make("p", "note", "Contributions to F1 of A less F1 of B; those of one division add up to it."));
    const titles = { labels: "labels", tough: "what training showed" };
    const choice = make("select");
    choice.setAttribute("aria-label", "Divide the lead by");
    for (const name of names) {
      const one = make("option", "", titles[name] || data.attributes.find((row) => row.name === name)?.title || name);
      one.value = name;
      choice.append(one);
    }
    choice.value = names.includes(now.division) ? now.division : names[0];
    const holder = make("div");
    const draw = () => {
      now.division = choice.value;
      const rows = parts[choice.value].map(([name, value]) => [name, turn() * value]).sort((x, y) => Math.abs(y[1]) - Math.abs(x[1]));
      const shown = rows.length > 14 ? [...rows.slice(0, 13), [`${rows.length - 13} others`, rows.slice(13).reduce((sum, [, value]) => sum + value, 0)]] : rows;
      const most = Math.max(...shown.map(([, value]) => Math.abs(value)), 0.01);
      const [element, body] = table([["part"], ["contribution", "track"], ["F1", "r"]]);
      for (const [name, value] of shown) {
        const line = make("tr"), bar = document.createElementNS(SVG, "svg");
        bar.setAttribute("viewBox", "0 0 160 14");
        bar.setAttribute("aria-hidden", "true");
        const length = 78 * Math.abs(value) / most;
        shape(bar, "line", "base", { x1: 80, x2: 80, y1: 0, y2: 14 });
        shape(bar, "rect", `k${value < 0 ? 1 : 0} bar`, { x: (value < 0 ? 80 - length : 80).toFixed(1), y: 2, width: length.toFixed(1), height: 10 });
        line.append(heading(name));
        cell(line, "track", bar);
        cell(line, "r", signed(value));
        body.append(line);
      }
      const line = make("tr");
      line.append(heading("together"));
      cell(line, "");
      cell(line, "r", make("b", "", signed(rows.reduce((sum, [, value]) => sum + value, 0))));
      body.append(line);
      holder.replaceChildren(region(element, "Parts of the lead"));
    };
    choice.addEventListener("change", draw);
    draw();
    section.append(choice, holder);
    return section;
  };

  // ---- put the pair in place ----------------------------------------------------------------------------
  const findings = () => {
    const pair = pairOf(), own = board.own[now.a];
    const items = [pair.lead, ...own].filter(Boolean).slice(0, 4);
    $("findings").innerHTML = items.join("") || '<li><span class="sign" aria-hidden="true">\u00b7</span><span>Nothing stands out that concerns at least 50 mentions, makes 1 F1 and is beyond chance.</span></li>';
  };
  const colours = () => {
    // The better system stands first in a headline; A is blue and B orange, whichever it is.
    if (turn() > 0) return;
    for (const span of $("headline").querySelectorAll(".c0, .c1")) span.className = span.className === "c0" ? "c1" : "c0";
  };
  const draw = () => {
    const [a, b] = [board.short[now.a], board.short[now.b]];
    $("headline").innerHTML = pairOf().head;
    colours();
    findings();
    $("choose-a").value = String(now.a);
    $("choose-b").value = String(now.b);
    $("focus").textContent = a;
    for (const row of document.querySelectorAll(".board tbody tr")) {
      const at = Number(row.dataset.at);
      row.className = at === now.a ? "is-a" : at === now.b ? "is-b" : "";
      for (const button of row.querySelectorAll(".pick")) button.setAttribute("aria-pressed", String(at === now[button.dataset.pick]));
    }
    const title = $("pair-title");
    title.replaceChildren(make("span", "k0 only", "A"), " ", make("bdi", "", a), " against ", make("span", "k1 only", "B"), " ", make("bdi", "", b));
    $("pair-note").textContent = "Differences are A less B; grey rows may be chance after correction. Marks are scores, lines their intervals; numbers open the mentions that are wrong there.";
    $("pair-lead").replaceChildren(drawRight(), drawParts());
    let first = 0;
    const drawn = [];
    for (const group of board.groups) {
      drawn.push(drawGroup(group, first));
      first += group.rows.length;
    }
    $("pair-groups").replaceChildren(...drawn);
    for (const part of document.querySelectorAll("[data-view]")) part.hidden = part.dataset.view !== String(now.a);
  };
  const go = (a, b) => {
    location.hash = `#pair?a=${encodeURIComponent(systems[a])},b=${encodeURIComponent(systems[b])}`;
  };
  // The pair of an address; an address that names none keeps the pair and is given it.
  const follow = (choices) => {
    const a = systems.indexOf(choices.a), b = systems.indexOf(choices.b);
    if (a >= 0 && b >= 0 && a !== b) {
      if (a !== now.a || b !== now.b) { now.a = a; now.b = b; draw(); }
    } else if (now.a !== 0 || now.b !== 1) {
      const given = `a=${encodeURIComponent(systems[now.a])},b=${encodeURIComponent(systems[now.b])}`;
      history.replaceState(null, "", `${location.hash || "#overview"}${location.hash.includes("?") ? "," : "?"}${given}`);
    }
  };
  const pick = (which, at) => {
    const other = which === "a" ? "b" : "a";
    const next = { ...now, [which]: at };
    if (next[other] === at) next[other] = now[which];
    go(next.a, next.b);
  };
  $("choose-a").addEventListener("change", (event) => pick("a", Number(event.target.value)));
  $("choose-b").addEventListener("change", (event) => pick("b", Number(event.target.value)));
  $("swap").addEventListener("click", () => go(now.b, now.a));
  for (const button of document.querySelectorAll(".pick")) {
    button.addEventListener("click", () => pick(button.dataset.pick, Number(button.closest("tr").dataset.at)));
  }
  window.spanwisePair = { follow, shown: () => [now.a, now.b] };
  draw();
})();
