// A menu of the versions of the documentation that stand side by side; docs/versions.py writes their list.
(function () {
  const base = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const list = document.createElement("script");
  list.src = new URL("../versions.js", base).href;
  list.onload = function () {
    const here = base.pathname.split("/").slice(-2)[0];
    const page = location.pathname.slice(base.pathname.length) || "index.html";
    const menu = document.createElement("select");
    menu.setAttribute("aria-label", "Version of the documentation");
    menu.style.margin = "0 1rem .5rem";
    menu.style.font = "inherit";
    for (const version of spanwiseVersions) {
      const option = document.createElement("option");
      option.textContent = version.name;
      // A page that the other version does not have: its first page instead.
      option.value = new URL("../" + version.folder + "/" + (version.pages.includes(page) ? page : "index.html"), base).href;
      option.selected = version.folder === here;
      menu.append(option);
    }
    menu.onchange = function () { location.href = menu.value; };
    const brand = document.querySelector(".sidebar-brand");
    if (brand) brand.after(menu);
  };
  document.head.append(list);
})();
