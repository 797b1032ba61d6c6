"use strict";
// Tools for every table and chart: sorting, and copying as a picture, a table or LaTeX.
(() => {
  const { $, make, copy } = window.spanwisePage;

  // ---- tables can be sorted by any column -----------------------------------------------------------
  const value = (cell) => {
    const text = cell?.dataset.key ?? cell?.textContent.trim() ?? "";
    const plain = text.replace(/\u2212/g, "-").replace(/[,%+<\u00b1]/g, " ").trim();
    const found = /^-?\d*\.?\d+(e-?\d+)?/.exec(plain);
    return found ? Number(found[0]) : text === "" || text === "n/a" || text === "\u2013" ? null : text;
  };
  const compared = (x, y) => {
    if (x === null || y === null) return (x === null) - (y === null);
    if (typeof x === "number" && typeof y === "number") return y - x;
    return typeof x === typeof y ? x.localeCompare(y) : typeof x === "number" ? -1 : 1;
  };
  const sort = (head) => {
    const table = head.closest("table"), heads = [...head.parentElement.cells];
    const column = heads.slice(0, heads.indexOf(head)).reduce((sum, one) => sum + one.colSpan, 0);
    const turn = head.getAttribute("aria-sort") === "descending" ? -1 : 1;
    for (const one of heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", turn > 0 ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, place) => ({ row, place, key: value(row.cells[column]) }));
    rows.sort((x, y) => (x.key === null || y.key === null ? compared(x.key, y.key) : turn * compared(x.key, y.key)) || x.place - y.place);
    body.append(...rows.map(({ row }) => row));
    // Brackets join neighbours in the order of scores, and are meaningless in any other order.
    table.classList.toggle("resorted", rows.some(({ place }, at) => place !== at));
  };
  const sortable = (table) => {
    if (table.matches(".matrix, .plain, [data-sortable]") || table.tHead?.rows.length !== 1 || (table.tBodies[0]?.rows.length ?? 0) < 3) return;
    table.dataset.sortable = "";
    for (const head of table.tHead.rows[0].cells) {
      if (head.dataset.unsorted !== undefined || head.querySelector("button")) continue;
      const button = make("button", "sort");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(head));
      head.append(button);
    }
  };

  // ---- charts and tables can be copied --------------------------------------------------------------
  const picture = (svg) => {
    const copied = svg.cloneNode(true), style = getComputedStyle(document.documentElement);
    copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copied.setAttribute("font-family", "Inter, Helvetica, Arial, sans-serif");
    const [, , width, height] = svg.getAttribute("viewBox").split(/[ ,]+/);
    copied.setAttribute("width", width);
    copied.setAttribute("height", height);
    for (const link of copied.querySelectorAll("a")) link.replaceWith(...link.childNodes);
    return copied.outerHTML.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  };
  const cells = (table) => [...table.rows].map((row) => [...row.cells].filter((cell) => !cell.matches(".track, .tie, .picks")).map((cell) => cell.textContent.trim().replace(/\s+/g, " ")));
  // The labels of marks hold their numbers: "Wrong label: +2.8 F1, 148 errors".
  const said = (chart) => [["mark", "value"], ...[...chart.querySelectorAll("svg [aria-label]")].map((mark) => {
    const [name, ...rest] = mark.getAttribute("aria-label").split(": ");
    return [name, rest.join(": ")];
  })];
  const shownOf = (card, selector) => [...card.querySelectorAll(selector)].filter((one) => !one.closest("[hidden]") && one.closest(".card") === card);
  const blocks = (card) => {
    const charts = shownOf(card, ".chart").filter((chart) => chart.querySelector("svg")).map((chart) => chart.rows || said(chart));
    const tables = shownOf(card, "table").filter((table) => !table.closest("#filter-score")).map(cells);
    return [...charts, ...tables].filter((rows) => rows.length > 1);
  };
  const written = (one) => typeof one === "number" ? String(Number(one.toFixed(3))) : String(one);
  const tabbed = (rows) => rows.map((row) => row.map(written).join("\t")).join("\n");
  const ESCAPED = { "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "&": "\\&", "%": "\\%", $: "\\$", "#": "\\#", _: "\\_", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\u2212": "$-$", "\u2265": "$\\geq$", "\u2264": "$\\leq$", "\u2192": "$\\rightarrow$", "\u00b1": "$\\pm$", "<": "$<$", ">": "$>$" };
  const escaped = (text) => written(text).replace(/[\\{}&%$#_~^\u2212\u2265\u2264\u2192\u00b1<>]/g, (sign) => ESCAPED[sign]);
  const latex = (rows) => {
    const most = Math.max(...rows.map((row) => row.length)), [head, ...body] = rows;
    const line = (row) => `${[...row, ...Array(most - row.length).fill("")].map(escaped).join(" & ")} \\\\`;
    return ["% needs \\usepackage{booktabs}", `\\begin{tabular}{l${"r".repeat(most - 1)}}`, "\\toprule", line(head), "\\midrule", ...body.map(line), "\\bottomrule", "\\end{tabular}"].join("\n");
  };
  const copying = (card) => {
    if (card.id === "examples" || card.id === "method" || card.querySelector(":scope > .take") || !card.querySelector("h2, h3") || !card.querySelector(".chart, table")) return;
    const holder = make("details", "take"), summary = make("summary", "", "Copy");
    summary.setAttribute("aria-label", `Copy ${card.querySelector("h2, h3").textContent.trim()}`);
    holder.append(summary);
    const add = (text, make_) => {
      const button = make("button", "quiet", text);
      button.type = "button";
      button.addEventListener("click", () => copy(button, make_()));
      holder.append(button);
    };
    if (card.querySelector(".chart")) add("SVG", () => shownOf(card, ".chart").flatMap((chart) => [...chart.querySelectorAll("svg")]).map(picture).join("\n"));
    add("Table", () => blocks(card).map(tabbed).join("\n\n"));
    add("LaTeX", () => blocks(card).map(latex).join("\n\n"));
    card.prepend(holder);
  };
  document.addEventListener("click", (event) => {
    for (const open of document.querySelectorAll(".take[open]")) if (!open.contains(event.target)) open.open = false;
  });
  window.spanwiseTools = (root) => {
    for (const table of root.querySelectorAll("table")) sortable(table);
    for (const card of root.querySelectorAll(".card")) copying(card);
  };

  // ---- print everything: open folded parts, and close them again afterwards ---------------------------
  let opened = [];
  addEventListener("beforeprint", () => {
    window.spanwisePage.fillIn(document, true);
    opened = [...document.querySelectorAll("details:not([open]):not(.take)")];
    for (const one of opened) one.open = true;
    window.spanwiseAll?.();
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });

  // ---- the signature: short by default, without the usual settings ------------------------------------
  $("long")?.addEventListener("click", (event) => {
    const long = $("signature").hidden;
    $("signature").hidden = !long;
    $("short").hidden = long;
    event.target.textContent = long ? "Short signature" : "Full signature";
  });
  window.spanwisePage.data.then(() => window.spanwiseTools(document));
})();
