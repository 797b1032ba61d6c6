"use strict";
// The pair of systems that the page compares: its headline, findings, tests and charts.
(async () => {
  const { $, make, number, query, choose, cut, roomOf } = window.spanwisePage;
  const data = await window.spanwisePage.data;
  if (!data.board) return;
  const now = { a: 0, b: 1, division: "", order: "gap" };
  const FEW = 50, MOST_GAPS = 16, MOST_PARTS = 12;
  const MINUS = "\u2212";
  const points = (value) => value === null || value === undefined ? "n/a" : value.toFixed(1).replace("-0.0", "0.0").replace("-", MINUS);
  const signed = (value, digits = 1) => {
    if (value === null || value === undefined) return "n/a";
    const text = Math.abs(value).toFixed(digits);
    return Number(text) === 0 ? text : (value > 0 ? "+" : MINUS) + text;
  };
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const address = (choices) => `#examples?${query(choices)}`;
  const link = (text, choices, cls = "n") => {
    const element = make("a", cls, text);
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
  const table = (heads, cls = "") => {
    const element = make("table", cls), head = make("tr");
    for (const [text, kind] of heads) {
      const one = make("th", kind || "", text);
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
  const card = (title, note, cls = "a4") => {
    const element = make("section", `card ${cls}`);
    element.setAttribute("aria-label", title);
    element.append(make("h2", "", title));
    if (note) element.append(make("p", "note", note));
    return element;
  };
  // A is blue and B orange; if there are only two systems, each keeps its colour from the charts.
  const colour = (which) => `k${data.names.length === 2 ? (which ? now.b : now.a) : which}`;
  const systemOf = (which) => data.names[which ? now.b : now.a];
  const runOf = (which) => data.middle[which ? now.b : now.a];

  // ---- the tests and the scores of a pair, A first -------------------------------------------------
  const pairOf = () => data.board.pairs[now.a < now.b ? `${now.a},${now.b}` : `${now.b},${now.a}`];
  const turn = () => now.a < now.b ? 1 : -1;
  const turned = ([value, low, high]) => turn() > 0 || value === null ? [value, low, high]
    : [-value, high === undefined || high === null ? high : -high, low === undefined || low === null ? low : -low];
  const testOf = (at) => {
    const test = pairOf().tests[at];
    if (!test) return null;
    const [difference, low, high] = turned(test);
    return { difference, low, high, p: test[3], significant: test[4] };
  };
  const few = (count) => {
    const mark = make("small", "few", "few");
    mark.dataset.says = `${number(count)} mentions: fewer than ${FEW}`;
    return mark;
  };
  const counted = (row) => {
    if (row.count === null) return [""];
    const chosen = Object.keys(row.choose).length > 0;
    const text = chosen ? link(number(row.count), { unit: "gold", ...row.choose, of: row.count }) : number(row.count);
    return row.count < FEW ? [few(row.count), " ", text] : [text];
  };

  // ---- drawing -------------------------------------------------------------------------------------
  const SVG = "http://www.w3.org/2000/svg";
  const shape = (parent, tag, attributes, text) => {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, typeof value === "number" ? value.toFixed(1).replace(/\.0$/, "") : value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };
  const picture = (width, height, says, role = "img") => {
    const element = document.createElementNS(SVG, "svg");
    element.setAttribute("viewBox", `0 0 ${width} ${height}`);
    element.setAttribute("role", role);
    element.setAttribute("aria-label", says);
    return element;
  };
  const track = (scores, [low, high], says) => {
    const element = picture(160, 22, says);
    const at = (value) => 6 + 148 * (value - low) / (high - low || 1);
    shape(element, "line", { class: "base", x1: 0, x2: 160, y1: 11, y2: 11 });
    scores.forEach((score, which) => {
      if (!score) return;
      const y = which ? 16 : 6, [value, from, to, ...runs] = score;
      if (from !== undefined && from !== null) shape(element, "line", { class: `${colour(which)} range`, x1: at(from), x2: at(to), y1: y, y2: y });
      for (const run of runs) shape(element, "circle", { class: `${colour(which)} run`, cx: at(run), cy: which ? 20.5 : 1.5, r: 1.3 });
      shape(element, "circle", { class: `${colour(which)} mark ${which ? "second" : ""}`, cx: at(value), cy: y, r: 4 });
    });
    return element;
  };
  const drawGroup = (group, first) => {
    const rows = group.rows.map((row, place) => ({ row, at: first + place, scores: [now.a, now.b].map((system) => data.board.scores[system][first + place]) }));
    const ends = rows.flatMap(({ scores }) => scores.flatMap((score) => (score || []).filter((value) => value !== null)));
    const domain = [Math.min(...ends), Math.max(...ends)];
    const [element, body] = table([["score"], ["n", "r"], ["A and B", "track"], ["A", "r"], ["B", "r"], ["A \u2212 B", "r"], ["95%", "r wideonly"], ["p", "r"]]);
    for (const { row, at, scores } of rows) {
      if (!scores[0] && !scores[1]) continue;
      const test = testOf(at), line = make("tr", test && !test.significant ? "weak" : "");
      const name = heading(row.title);
      if (row.under) name.append(" ", make("small", "", row.under));
      line.append(name);
      const chosen = Object.keys(row.choose).length > 0, errors = row.choose.unit === "error";
      cell(line, "r", ...counted(row));
      const said = scores.map((score, which) => `${"AB"[which]} ${points(score?.[0])}`).join(", ");
      cell(line, "track", track(scores, domain, `${row.title}: ${said}`)).dataset.key = String(scores[0]?.[0] ?? "");
      scores.forEach((score, which) => {
        const text = points(score?.[0]), system = systemOf(which);
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

  // ---- where the two differ: one row per slice, the difference and its interval ------------------------
  const gaps = () => {
    const rows = [];
    let at = 0;
    for (const group of data.board.groups) {
      for (const row of group.rows) {
        const test = testOf(at), scores = [now.a, now.b].map((system) => data.board.scores[system][at]);
        at += 1;
        if (!group.slices || !scores[0] || !scores[1]) continue;
        const difference = test ? test.difference : scores[0][0] - scores[1][0];
        if (difference === null) continue;
        rows.push({ row, test, difference, scores, title: group.prefix ? `${group.prefix} ${row.title}${row.under ? /^[([]/.test(row.under) ? ` ${row.under}` : ` (${row.under})` : ""}` : capital(row.title),
          recall: row.path.at(-1) === "recall", share: difference * (row.count || 0) / data.board.mentions });
      }
    }
    return rows;
  };
  const drawGaps = () => {
    const all = gaps(), significant = all.filter(({ test }) => test?.significant).length;
    const size = now.order === "gap" ? ({ difference }) => Math.abs(difference) : ({ share }) => Math.abs(share);
    const rows = all.filter(({ row }) => row.count === null || row.count >= FEW)
      .sort((x, y) => Boolean(y.test?.significant) - Boolean(x.test?.significant) || size(y) - size(x)).slice(0, MOST_GAPS)
      .sort((x, y) => y.difference - x.difference);
    $("differences-note").textContent = `A less B in F1 (recall where marked R) with 95% intervals; filled where significant after correction (${number(significant)} of ${number(all.length)} slices). Slices under ${FEW} mentions are in the tables below.`;
    const holder = $("pair-gaps");
    holder.replaceChildren();
    if (!rows.length) { holder.append(make("p", "note", "No slice with at least 50 mentions has a difference.")); return; }
    const toggles = make("p", "toggles");
    for (const [name, text] of [["gap", "size of gap"], ["share", "share of the data"]]) {
      const button = make("button", "quiet", text);
      button.setAttribute("aria-pressed", String(now.order === name));
      button.addEventListener("click", () => { now.order = name; drawGaps(); $("pair-gaps").querySelector(`[aria-pressed="true"]`).focus(); });
      toggles.append(button);
    }
    const room = roomOf(holder), narrow = room < 560, left = narrow ? 170 : 330, wide = narrow ? 380 : Math.max(620, Math.min(1240, room)), right = wide - (narrow ? 52 : 150), step = 26;
    const svg = picture(wide, rows.length * step + 34, "Where the two systems differ", "group");
    const ends = rows.flatMap(({ difference, test }) => [0, difference, test?.low ?? difference, test?.high ?? difference]);
    const low = Math.min(...ends), high = Math.max(...ends), at = (value) => left + 10 + (right - left - 20) * (value - low) / (high - low || 1);
    for (const tick of ticks(low, high)) {
      shape(svg, "line", { x1: at(tick), x2: at(tick), y1: 4, y2: rows.length * step + 8, stroke: tick === 0 ? "var(--axis)" : "var(--grid)" });
      shape(svg, "text", { x: at(tick), y: rows.length * step + 24, "text-anchor": "middle", "font-size": 11, fill: "var(--muted)" }, signed(tick, 0));
    }
    rows.forEach(({ row, test, difference, title, recall }, place) => {
      const y = place * step + 18, which = difference >= 0 ? 0 : 1, fill = `var(--${colour(which).replace("k", "s")})`;
      const anchor = shape(svg, "a", { href: address({ unit: "gold", ...row.choose, of: row.count ?? undefined }) });
      const says = `${title}: ${signed(difference)} ${recall ? "recall" : "F1"}${test && test.low !== null ? ` (${signed(test.low)} to ${signed(test.high)})` : ""}${test ? `, p ${test.p}` : ""}`;
      if (Object.keys(row.choose).length) anchor.setAttribute("aria-label", says);
      else anchor.removeAttribute("href");
      shape(anchor, "text", { x: 0, y: y + 4, "font-size": 12.5, fill: "var(--ink)" }, `${cut(title, narrow ? 26 : 44)}${recall ? " R" : ""}`);
      if (!narrow) shape(anchor, "text", { x: left - 8, y: y + 4, "text-anchor": "end", "font-size": 11.5, fill: "var(--muted)" }, row.count === null ? "" : number(row.count));
      if (test && test.low !== null) shape(anchor, "line", { x1: at(test.low), x2: at(test.high), y1: y, y2: y, stroke: test.significant ? fill : "var(--none)", "stroke-width": 7, "stroke-linecap": "round", opacity: "0.35" });
      shape(anchor, "circle", { cx: at(difference), cy: y, r: 4.5, stroke: test?.significant ? fill : "var(--none)", "stroke-width": 2, fill: test?.significant ? fill : "var(--panel)" });
      shape(svg, "text", { x: right + (narrow ? 48 : 46), y: y + 4, "text-anchor": "end", "font-size": 12.5, "font-weight": 650, fill: "var(--ink)" }, signed(difference));
      if (!narrow) shape(svg, "text", { x: wide - 4, y: y + 4, "text-anchor": "end", "font-size": 11.5, fill: "var(--muted)" }, test ? (test.p.startsWith("<") ? `p ${test.p}` : `p = ${test.p}`) : "not tested");
    });
    const chart = make("div", "chart full");
    chart.append(svg);
    chart.rows = [["slice", "mentions", "score", "difference", "low", "high", "p"], ...rows.map(({ row, test, difference, title, recall }) => [title, row.count ?? "", recall ? "recall" : "F1", difference, test?.low ?? "", test?.high ?? "", test?.p ?? ""])];
    holder.append(toggles, chart);
  };
  const ticks = (low, high) => {
    const room = (high - low) / 6 || 1, power = 10 ** Math.floor(Math.log10(room));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= room);
    const found = [];
    for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(at * step);
    return found;
  };

  // ---- who gets which mentions right, and the parts of the lead ----------------------------------------
  const KINDS = ["TP", "LE", "BE", "LBE", "FN"], KIND_OF = [0, 1, 2, 2, 2, 3, 4];
  const outcomes = () => {
    const counts = KINDS.map(() => KINDS.map(() => 0));
    let seen = 0;
    for (const golds of data.sentences[3]) {
      for (const gold of golds) {
        counts[KIND_OF[gold[3][runOf(0)]]][KIND_OF[gold[3][runOf(1)]]] += 1;
        seen += 1;
      }
    }
    // Sentences that every system got right are not in the page; all their mentions are right.
    counts[0][0] += data.board.mentions - seen;
    return counts;
  };
  const uncounted = () => {
    const { policy, shown, of } = data.examples;
    if (complete()) return "";
    return ` Who gets what right is counted from the sentences with errors, and the page holds ${policy === "none" ? "none" : `${number(shown)} of ${number(of)}`} of them.`;
  };
  const complete = () => data.examples.policy !== "none" && data.examples.shown === data.examples.of;
  const chosenBy = (ours, theirs, of) => ({ unit: "gold", system: systemOf(0), outcome: ours, over: systemOf(1), as: theirs === "wrong" ? undefined : theirs, of });
  const shade = (value, most) => `h${value && most ? Math.max(1, Math.min(6, Math.round(6 * Math.sqrt(value / most)))) : 0}`;
  const ofRuns = () => [0, 1].map((which) => data.systems[runOf(which)]).filter((name, which) => name !== systemOf(which)).length
    ? ` In the runs ${data.systems[runOf(0)]} and ${data.systems[runOf(1)]}, the medians by F1.` : "";
  const drawRight = () => {
    if (!complete()) return [];
    const counts = outcomes(), wrong = [1, 2, 3, 4];
    const sum = (rows, columns) => rows.reduce((all, i) => all + columns.reduce((some, j) => some + counts[i][j], 0), 0);
    const cells = [[counts[0][0], sum([0], wrong)], [sum(wrong, [0]), sum(wrong, wrong)]];
    const names = [["both", "only A"], ["only B", "neither"]], kinds = ["TP", "wrong"];
    const first = card("Who gets what right", `${number(data.board.mentions)} gold mentions; each cell opens its sentences.${ofRuns()}`);
    const [two, body] = table([[""], ["B right", "c"], ["B wrong", "c"]], "matrix two");
    const colours = [["h2", colour(0)], [colour(1), "h0"]];
    [0, 1].forEach((i) => {
      const line = make("tr");
      line.append(heading(["A right", "A wrong"][i]));
      [0, 1].forEach((j) => {
        const count = cells[i][j], inner = make(count ? "a" : "span", "");
        if (count) inner.href = address(chosenBy(kinds[i], kinds[j], count));
        inner.append(make("b", "", number(count)), make("small", "", names[i][j]));
        cell(line, `${colours[i][j]}${i === j ? "" : " tinted"}`, inner);
      });
      body.append(line);
    });
    first.append(two);
    const found = data.board.mentions - cells[1][1], best = Math.max(cells[0][0] + cells[0][1], cells[0][0] + cells[1][0]);
    first.append(make("p", "note", `Choosing the right one of the two for each mention would find ${points(100 * found / (data.board.mentions || 1))}% of the mentions: ${points(100 * (found - best) / (data.board.mentions || 1))} points of recall could come from combining them.`));
    const second = card("What happened to each mention", `Rows: A. Columns: B. Above the diagonal A is nearer to gold.${ofRuns()}`);
    const title = (kind) => ({ TP: "right", LE: "label", BE: "boundary", LBE: "both", FN: "missed" })[kind];
    const [all, inner] = table([[""], ...KINDS.map((kind) => [title(kind), "c"])], "matrix five");
    const most = Math.max(...counts.flatMap((row, i) => row.filter((_, j) => i + j > 0)), 1);
    KINDS.forEach((kind, i) => {
      const line = make("tr");
      line.append(heading(title(kind)));
      KINDS.forEach((other, j) => {
        const count = counts[i][j];
        const text = count ? link(number(count), chosenBy(kind, other, count), "") : "";
        const side = i === j ? "level" : i < j ? colour(0) : colour(1);
        cell(line, `${i + j === 0 ? "h0" : shade(count, most)} ${side} toned`, text).dataset.says = `A ${data.outcomes[kind] || "right"}, B ${data.outcomes[other] || "right"}: ${number(count)}`;
      });
      inner.append(line);
    });
    second.append(region(all, "Outcomes of A against outcomes of B"));
    return [first, second];
  };
  const drawParts = () => {
    const parts = pairOf().parts, names = Object.keys(parts);
    if (!names.length) return [];
    const bounded = names.some((name) => parts[name].some((row) => row.length > 2 && row[2] !== null)), pooled = data.systems.length > data.names.length;
    const over = pooled ? ", means over all pairs of runs" : "";
    const section = card("Where the lead comes from", bounded
      ? `Points of F1${over}; parts do not overlap and add up to A less B; ${Math.round(100 * data.confidence)}% intervals in brackets.`
      : `Points of F1${over}; parts do not overlap and add up to A less B. They have no intervals: none were requested, the pair was not tested, or there are too many pairs and parts.`);
    const titles = { labels: "labels", tough: "what was seen in training" };
    const choice = make("select");
    choice.setAttribute("aria-label", "Divide the lead by");
    for (const name of names) {
      const one = make("option", "", titles[name] || data.attributes.find((row) => row.name === name)?.title || name);
      one.value = name;
      choice.append(one);
    }
    choice.value = names.includes(now.division) ? now.division : names.includes("tough") ? "tough" : names[0];
    const holder = make("div", "chart full");
    const draw = () => {
      const rows = parts[choice.value].map(([name, ...ends]) => [name, ...turned(ends)]).sort((x, y) => Math.abs(y[1]) - Math.abs(x[1]));
      const shown = rows.length > MOST_PARTS ? [...rows.slice(0, MOST_PARTS - 1), [`${rows.length - MOST_PARTS + 1} others`, rows.slice(MOST_PARTS - 1).reduce((sum, [, value]) => sum + value, 0)]] : rows;
      const total = rows.reduce((sum, [, value]) => sum + value, 0);
      const step = 34, width = 380, svg = picture(width, shown.length * step + 42, `Parts of the lead by ${choice.selectedOptions[0].textContent}`, "group");
      let sum = 0;
      const edges = [0, total, ...shown.map(([, value]) => (sum += value))];
      const low = Math.min(...edges), high = Math.max(...edges), at = (value) => 6 + 205 * (value - low) / (high - low || 1);
      for (let place = 0; place <= shown.length; place++) shape(svg, "line", { x1: at(0), x2: at(0), y1: place * step + 15, y2: place * step + 31, stroke: "var(--axis)" });
      // Lines stop short of the letters they would cross.
      const clear = { "paint-order": "stroke", stroke: "var(--panel)", "stroke-width": 5, "stroke-linejoin": "round" };
      let from = 0;
      shown.forEach(([name, value, least, greatest], place) => {
        const y = place * step, to = from + value, bounds = least === undefined || least === null ? "" : ` (${signed(least)} to ${signed(greatest)})`;
        shape(svg, "text", { ...clear, x: 0, y: y + 12, "font-size": 12, fill: "var(--ink)" }, cut(name, 34));
        const bar = shape(svg, "rect", { x: Math.min(at(from), at(to)), y: y + 17, width: Math.max(Math.abs(at(to) - at(from)), 1), height: 11, rx: 2, fill: `var(--${colour(value < 0 ? 1 : 0).replace("k", "s")})`, role: "img" });
        bar.setAttribute("aria-label", `${name}: ${signed(value, 2)}${bounds}`);
        shape(svg, "text", { x: width, y: y + 26, "text-anchor": "end", "font-size": 12, fill: "var(--muted)" }, "").append(...strongly(signed(value, 2), bounds));
        if (place + 1 < shown.length) shape(svg, "line", { x1: at(to), x2: at(to), y1: y + 28, y2: y + step + 17, stroke: "var(--axis)", "stroke-dasharray": "2 2" });
        from = to;
      });
      const y = shown.length * step;
      shape(svg, "text", { ...clear, x: 0, y: y + 12, "font-size": 12, "font-weight": 700, fill: "var(--ink)" }, "together");
      shape(svg, "rect", { x: Math.min(at(0), at(total)), y: y + 17, width: Math.max(Math.abs(at(total) - at(0)), 1), height: 13, rx: 2, fill: "var(--gold-line)" });
      shape(svg, "text", { x: width, y: y + 28, "text-anchor": "end", "font-size": 12.5, "font-weight": 700, fill: "var(--ink)" }, signed(total, 2));
      holder.rows = [["part", "F1", "low", "high"], ...shown.map(([name, value, least, greatest]) => [name, value, least ?? "", greatest ?? ""]), ["together", total, "", ""]];
      holder.replaceChildren(svg);
    };
    const strongly = (value, bounds) => {
      const strong = document.createElementNS(SVG, "tspan");
      strong.setAttribute("font-weight", "650");
      strong.setAttribute("fill", "var(--ink)");
      strong.textContent = value;
      const rest = document.createElementNS(SVG, "tspan");
      rest.setAttribute("font-size", "10.5");
      rest.textContent = bounds;
      return [strong, rest];
    };
    choice.addEventListener("change", () => { now.division = choice.value; draw(); });
    draw();
    section.append(choice, holder);
    return [section];
  };

  // ---- show the pair ------------------------------------------------------------------------------------
  const findings = () => {
    const items = (now.a === 0 && now.b === 1 ? data.board.first : data.board.own[now.a]).slice(0, 5);
    $("findings").innerHTML = items.join("") || '<li><span class="sign" aria-hidden="true">\u00b7</span><span>No finding concerns at least 50 mentions, is worth 1 F1 and is beyond chance.</span></li>';
  };
  const colours = () => {
    // The better system comes first in a headline, but A is always blue and B orange.
    if (turn() > 0 || data.names.length === 2) return;
    const named = [$("headline"), $("pair-reason") || $("reason")].flatMap((element) => element ? [...element.querySelectorAll(".c0, .c1")] : []);
    for (const span of named) span.className = span.className === "c0" ? "c1" : "c0";
  };
  // How many letters of a name fit in its menu, whose width is set in page.css.
  const fitting = () => {
    const three = Boolean($("choose-data"));
    const room = innerWidth <= 760 ? (innerWidth - 110) / 2 : three ? 164 : Math.min(Math.max(178, 0.14 * innerWidth), 230);
    return Math.floor((room - 34) / (innerWidth <= 760 ? 6.6 : 7.2)) - 4;
  };
  const fillChoices = () => {
    for (const [which, at] of [["a", now.a], ["b", now.b]]) {
      const choice = $(`choose-${which}`);
      if (!choice) continue;
      choice.replaceChildren(...data.board.short.map((name, place) => {
        const option = make("option", "", `${data.board.letters[place]} · ${cut(name, fitting())}`);
        option.value = String(place);
        return option;
      }));
      choice.value = String(at);
    }
  };
  const named = (which) => [make("span", `${colour(which)} only`, "AB"[which]), " ", make("bdi", "", data.board.short[which ? now.b : now.a])];
  const draw = () => {
    if (!data.board) return;
    $("headline").innerHTML = pairOf().head;
    for (const [part, fill] of [["reason", "innerHTML"], ["how", "textContent"]]) {
      const element = $(`pair-${part}`) || $(part);
      if (element) element[fill] = pairOf()[part];
    }
    colours();
    findings();
    fillChoices();
    for (const pill of document.querySelectorAll("[data-system]")) pill.setAttribute("aria-pressed", String(Number(pill.dataset.system) === now.a));
    if ($("focus")) $("focus").textContent = data.board.short[now.a];
    for (const row of document.querySelectorAll(".board tbody tr")) {
      const at = Number(row.dataset.at);
      row.className = at === now.a ? "is-a" : at === now.b ? "is-b" : "";
      for (const button of row.querySelectorAll(".pick")) button.setAttribute("aria-pressed", String(at === now[button.dataset.pick]));
    }
    $("pair").replaceChildren(...named(0), " against ", ...named(1));
    const pair = pairOf(), tested = Object.keys(pair.tests).length > 0;
    $("pair-note").textContent = "Differences are A less B."
      + (tested ? "" : " This pair was not tested.")
      + (pair.detectable ? ` The smallest F1 difference that these data would show four times in five: ${points(pair.detectable)}.` : "")
      + uncounted();
    $("pair-lead").replaceChildren(...drawRight(), ...drawParts());
    drawGaps();
    let first = 0;
    const drawn = [];
    for (const group of data.board.groups) {
      drawn.push(drawGroup(group, first));
      first += group.rows.length;
    }
    $("pair-groups").replaceChildren(...drawn);
    for (const part of document.querySelectorAll("[data-view]")) part.hidden = part.dataset.view !== String(now.a);
    window.spanwisePage.fillIn(document);
  };
  const go = (a, b) => {
    const text = query({ ...(data.sets.length > 1 ? { data: data.name } : {}), a: data.names[a], b: data.names[b] });
    const { place, choices } = window.spanwisePage.address();
    const own = query(Object.fromEntries(Object.entries(choices).filter(([key]) => !window.spanwisePage.KEPT.includes(key))));
    // Do not scroll: what is on the screen follows the pair.
    if (place === "examples") window.spanwisePage.visit(`#examples?${own ? `${own},` : ""}${text}`);
    else { history.pushState(null, "", `#${place || "overview"}?${text}`); window.spanwisePage.stay(); }
  };
  // Apply the dataset and the pair of an address; what it does not mention stays as it is.
  const follow = (choices) => {
    const set = data.sets.findIndex((one) => one.name === choices.data), other = set >= 0 && set !== data.at;
    const before = [data.names[now.a], data.names[now.b]];
    if (other) choose(data, set);
    const [a, b] = [choices.a ?? before[0], choices.b ?? before[1]].map((name) => data.names.indexOf(name));
    const changed = a >= 0 && b >= 0 && a !== b && (a !== now.a || b !== now.b);
    if (changed) { now.a = a; now.b = b; } else if (other) Object.assign(now, a >= 0 && b >= 0 && a !== b ? { a, b } : { a: 0, b: 1 });
    if (!changed && !other) return;
    draw();
    window.spanwiseTurn?.(other);
  };
  const pick = (which, at) => {
    const other = which === "a" ? "b" : "a";
    const next = { ...now, [which]: at };
    if (next[other] === at) next[other] = now[which];
    go(next.a, next.b);
  };
  $("choose-a")?.addEventListener("change", (event) => pick("a", Number(event.target.value)));
  $("choose-b")?.addEventListener("change", (event) => pick("b", Number(event.target.value)));
  $("choose-data")?.addEventListener("change", (event) => {
    const { place } = window.spanwisePage.address();
    history.pushState(null, "", `#${place === "examples" ? "examples" : "dataset"}?${query({ data: data.sets[Number(event.target.value)].name, a: data.names[now.a], b: data.names[now.b] })}`);
    window.spanwisePage.stay();
  });
  $("swap")?.addEventListener("click", () => go(now.b, now.a));
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.(".pick"), pill = event.target.closest?.("[data-system]");
    if (button) pick(button.dataset.pick, Number(button.closest("tr").dataset.at));
    if (pill) pick("a", Number(pill.dataset.system));
  });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; fillChoices(); drawGaps(); window.spanwiseTools?.($("differences")); } });
  window.spanwisePair = { follow, shown: () => [runOf(0), runOf(1)], colour };
  draw();
})();
