"use strict";
// The main script of the page: unpacks the sentences, shows the mentions behind a number, keeps the
// choice in the address. It makes no requests, and inserts user data as text, never as markup.
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (tag, cls, text) => {
    const element = document.createElement(tag);
    if (cls) element.className = cls;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const NUMBER = new Intl.NumberFormat("en-US");
  const number = (value) => NUMBER.format(value);
  // Cut in the middle, since names differ at their ends.
  const cut = (text, most) => text.length > most ? `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}` : text;

  // ---- theme: follows the system until chosen ------------------------------------------------
  const THEMES = ["auto", "dark", "light"];
  const theme = { now: "auto" };
  const setTheme = (name) => {
    theme.now = name;
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    const button = $("theme");
    if (button) button.textContent = `Theme: ${name}`;
    try { localStorage.setItem("spanwise-theme", name); } catch { /* some browsers forbid it for files */ }
  };
  let before = null;
  try { before = localStorage.getItem("spanwise-theme"); } catch { /* as above */ }
  setTheme(THEMES.includes(before) ? before : "auto");
  $("theme")?.addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(theme.now) + 1) % 3]));
  $("print")?.addEventListener("click", () => window.print());

  // ---- tooltips: the description of a mark, next to the pointer or the focus -------------------
  const tip = $("tip");
  const tell = (target, x, y) => {
    const marked = target?.closest?.(".chart [aria-label], [data-says]");
    const text = marked && marked.tagName !== "svg" ? marked.getAttribute("aria-label") || marked.dataset.says : null;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    tip.style.left = `${Math.max(8, Math.min(x + 12, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
  };
  document.addEventListener("pointermove", (event) => tell(event.target, event.clientX, event.clientY));
  document.addEventListener("pointerleave", () => tell(null));
  document.addEventListener("scroll", () => tell(null), { passive: true });
  document.addEventListener("focusin", (event) => {
    const box = event.target.getBoundingClientRect();
    tell(event.target, box.left, box.bottom - 14);
  });

  const copy = async (button, text) => {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copying is not allowed here";
    }
    setTimeout(() => { button.textContent = before; }, 1400);
  };
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy(button, $(button.dataset.copy).textContent.trim()));
  }

  // ---- arrows move between the cells of a matrix ----------------------------------------------
  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest?.("table.matrix td, table.matrix th");
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !step) return;
    const rows = [...cell.closest("table").rows];
    let row = rows.indexOf(cell.parentElement), column = cell.cellIndex;
    for (;;) {
      row += step[0];
      column += step[1];
      const next = rows[row]?.cells[column];
      if (!next) return;
      const link = next.querySelector("a");
      if (link) {
        event.preventDefault();
        link.focus();
        return;
      }
    }
  });

  // ---- unpack the data of the page, and insert the parts that are hidden at first ---------------------
  let parts = [];
  const WAITING = "[data-part]:not(template)", UNSEEN = "[hidden], details:not([open]), tbody"; // table bodies are large and further down
  const fill = (element) => {
    element.innerHTML = parts[element.dataset.part];
    delete element.dataset.part;
  };
  // Visible parts are inserted at once; the rest when the browser is idle, or when they are opened.
  const fillIn = (root, all = false) => {
    for (const element of root.querySelectorAll(WAITING)) if (all || !element.closest(UNSEEN)) fill(element);
    window.spanwiseTools?.(root);
  };
  const later = (work) => window.requestIdleCallback ? requestIdleCallback(work, { timeout: 1000 }) : setTimeout(work, 1, { timeRemaining: () => 20 });
  const fillRest = (deadline) => {
    do {
      const element = document.querySelector(WAITING);
      if (!element) { document.documentElement.dataset.filled = "yes"; return; }
      fill(element);
      window.spanwiseTools?.(element);
    } while (deadline.timeRemaining() > 4);
    later(fillRest);
  };
  document.addEventListener("toggle", (event) => { if (event.target.open && event.target.querySelector(WAITING)) fillIn(event.target); }, true);
  // ---- folded parts of the page: an address, a link or a key opens the part that it leads to ------------
  const unfold = (element) => {
    for (let fold = element?.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) {
      fold.open = true;
      fillIn(fold);
    }
  };
  const PARTS = "details.part";
  $("unfold")?.addEventListener("click", () => {
    const all = [...document.querySelectorAll(PARTS)], open = all.some((one) => !one.open);
    for (const one of all) one.open = open;
  });
  document.addEventListener("toggle", (event) => {
    if ($("unfold") && event.target.matches(PARTS)) $("unfold").textContent = [...document.querySelectorAll(PARTS)].some((one) => !one.open) ? "Open all" : "Close all";
  }, true);
  // What is folded has no width of its own yet, but the width of the page less the borders of a card.
  const roomOf = (element) => element.clientWidth || $("overview").querySelector(".page").clientWidth - 42;

  // A page may have several datasets, but shows one at a time.
  const take = (data, at) => Object.assign(data, { board: undefined }, data.sets[at], { at });
  const unpack = async () => {
    const text = atob($("data").textContent.trim()), bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const whole = JSON.parse(await new Response(stream).text());
    parts = whole.parts;
    fillIn(document);
    return take({ sets: whole.sets || [] }, 0);
  };
  const first = $("dataset-view")?.innerHTML;
  const choose = (data, at) => {
    take(data, at);
    const view = $("dataset-view");
    view.innerHTML = at ? parts[document.querySelector(`template[data-set="${at}"]`).dataset.part] : first;
    delete document.documentElement.dataset.filled;
    fillIn(view);
    later(fillRest);
    $("choose-data").value = String(at);
  };

  // ---- the address: a section, its choices, and the choices that are kept across sections ---------
  const KEPT = ["data", "a", "b", "named"];
  const kept = {};
  const read = (hash) => {
    const [place, query] = hash.slice(1).split(/\?(.*)/s);
    const choices = {};
    for (const part of (query || "").split(/[,&]/)) {
      const [key, value] = part.split(/=(.*)/s);
      try { if (key) choices[key] = decodeURIComponent(value || ""); } catch { /* not an address of this page */ }
    }
    return { place: place || "", choices };
  };
  const address = () => read(location.hash);
  const query = (choices) => Object.entries(choices).filter(([, value]) => value !== undefined && value !== "")
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join(",");
  const go = (choices, place = "examples") => {
    const own = query(choices);
    visit(`#${place}${own ? `?${own}` : ""}`);
  };
  // Follow at once, so that the next key press acts on the updated page.
  const visit = (hash) => {
    if (hash !== location.hash) history.pushState(null, "", hash);
    follow();
  };
  // Choices that an address does not mention stay as they are, and are added to it.
  const keep = (choices) => {
    for (const key of KEPT) if (choices[key] !== undefined) kept[key] = choices[key];
    const missing = Object.fromEntries(KEPT.filter((key) => kept[key] && choices[key] === undefined).map((key) => [key, kept[key]]));
    const added = query(missing);
    if (added) history.replaceState(null, "", `${location.hash || "#overview"}${location.hash.includes("?") ? "," : "?"}${added}`);
  };
  const wide = () => innerWidth >= 1180;
  const beside = (open) => {
    if (open) document.documentElement.dataset.beside = "yes";
    else delete document.documentElement.dataset.beside;
    if ($("beside")) $("beside").hidden = !open;
  };
  $("beside")?.addEventListener("click", () => { beside(false); $("examples").scrollIntoView(); });
  const follow = (event, still = false) => {
    const { place, choices } = address();
    const own = Object.keys(choices).some((key) => !KEPT.includes(key));
    keep(choices);
    window.spanwisePair?.follow(choices);
    window.spanwiseKept?.(kept);
    if (!still) unfold($(place));
    if (place !== "examples") { if (place && !still) $(place)?.scrollIntoView(); return; }
    const open = own && wide() && Boolean($("beside")), was = document.documentElement.dataset.beside;
    beside(open);
    window.spanwiseShow?.(choices, !open && !was);
    if (open) $("examples").scrollTop = 0;
  };
  // Follow a changed address without scrolling.
  const stay = () => follow(null, true);
  window.addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const hash = event.target.closest?.('a[href^="#"]')?.getAttribute("href");
    if (hash) unfold($(hash.slice(1).split("?")[0]));
    if (!hash?.startsWith("#examples?") || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    visit(hash);
  });
  const data = unpack();
  data.then(() => later(fillRest));
  window.spanwisePage = { $, make, number, cut, address, read, query, go, visit, copy, follow, unfold, roomOf, stay, choose, fillIn, beside, kept, KEPT, data };
  if (!$("list")) data.then(() => { document.documentElement.dataset.ready = "yes"; follow(); });
})();
