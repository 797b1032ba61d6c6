"use strict";
// The page's own script: unpacks the sentences, shows the mentions behind a number, keeps the
// choice in the address. It asks for nothing from outside; what people wrote becomes text, never markup.
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (tag, cls, text) => {
    const element = document.createElement(tag);
    if (cls) element.className = cls;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const number = (value) => value.toLocaleString("en-US");

  // ---- theme: follows the system until chosen ------------------------------------------------
  const THEMES = ["auto", "dark", "light"];
  const theme = { now: "auto" };
  const setTheme = (name) => {
    theme.now = name;
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    const button = $("theme");
    if (button) button.textContent = `Theme: ${name}`;
    try { localStorage.setItem("spanwise-theme", name); } catch { /* not allowed for files in some browsers */ }
  };
  let kept = null;
  try { kept = localStorage.getItem("spanwise-theme"); } catch { /* as above */ }
  setTheme(THEMES.includes(kept) ? kept : "auto");
  $("theme")?.addEventListener("click", () => setTheme(THEMES[(THEMES.indexOf(theme.now) + 1) % 3]));
  $("print")?.addEventListener("click", () => window.print());

  // ---- what a mark of a chart says, shown beside the pointer or the focus ---------------------
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

  // ---- unpack what the page carries, and put in place what was not seen at first --------------------
  const unpack = async () => {
    const bytes = Uint8Array.from(atob($("data").textContent.trim()), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const data = JSON.parse(await new Response(stream).text());
    for (const element of document.querySelectorAll("[data-part]")) element.innerHTML = data.parts[element.dataset.part];
    return data;
  };

  // ---- which system the page is about ----------------------------------------------------------
  const views = [...document.querySelectorAll("[data-system]")].filter((pill) => pill.tagName === "BUTTON");
  const setView = (name) => {
    const place = views.findIndex((pill) => pill.textContent === name);
    if (place < 0) return;
    for (const pill of views) pill.setAttribute("aria-pressed", String(pill.textContent === name));
    for (const part of document.querySelectorAll("[data-view]")) part.hidden = part.dataset.view !== String(place);
  };
  for (const pill of views) {
    pill.addEventListener("click", () => {
      location.hash = `#overview?view=${encodeURIComponent(pill.textContent)}`;
    });
  }

  // ---- the address -------------------------------------------------------------------------------
  const address = () => {
    const [place, query] = location.hash.slice(1).split(/\?(.*)/s);
    const choices = {};
    for (const part of (query || "").split(/[,&]/)) {
      const [key, value] = part.split(/=(.*)/s);
      try { if (key) choices[key] = decodeURIComponent(value || ""); } catch { /* not an address of this page */ }
    }
    return { place: place || "", choices };
  };
  const go = (choices) => {
    const given = Object.entries(choices).filter(([, value]) => value !== undefined && value !== "");
    const query = given.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join(",");
    location.hash = `#examples${query ? `?${query}` : ""}`;
  };
  const follow = () => {
    const { place, choices } = address();
    if (choices.view) setView(choices.view);
    window.spanwisePair?.follow(choices);
    if (place === "examples") window.spanwiseShow?.(choices, true);
    else if (place) $(place)?.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  const data = unpack();
  window.spanwisePage = { $, make, number, address, go, copy, follow, data };
  if (!$("list")) data.then(() => { document.documentElement.dataset.ready = "yes"; follow(); });
})();
