"use strict";
// What can be found is in `index.js`: [name, kind, module, address, sentence] each. Nothing is asked over a network.
(() => {
  const box = document.getElementById("search");
  const list = document.getElementById("found");
  const root = document.documentElement.dataset.root;
  if (!box || !list || !window.AEL_INDEX) return;
  const LIMIT = 30;
  let chosen = -1;

  const rank = ([name, kind, module, , text], words) => {
    const own = name.toLowerCase();
    let sum = 0;
    for (const word of words) {
      if (own === word) sum += 0;
      else if (own.startsWith(word)) sum += 1;
      else if (own.split(/[._]/).some((part) => part.startsWith(word))) sum += 2;
      else if (own.includes(word)) sum += 3;
      else if (`${kind} ${module}`.toLowerCase().includes(word)) sum += 4;
      else if (text.toLowerCase().includes(word)) sum += 6;
      else return -1;
    }
    return sum + own.length / 1000;
  };

  const choose = (to) => {
    const items = list.children;
    if (chosen >= 0 && items[chosen]) items[chosen].setAttribute("aria-selected", "false");
    chosen = items.length ? (to + items.length) % items.length : -1;
    if (chosen < 0) return box.removeAttribute("aria-activedescendant");
    items[chosen].setAttribute("aria-selected", "true");
    items[chosen].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", items[chosen].id);
  };

  const close = () => {
    list.hidden = true;
    chosen = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  };

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    chosen = -1;
    if (!words.length) return close();
    const ranked = window.AEL_INDEX.map((entry) => [rank(entry, words), entry]).filter(([sum]) => sum >= 0);
    ranked.sort(([one], [other]) => one - other);
    ranked.slice(0, LIMIT).forEach(([, [name, kind, module, address, text]], number) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const more = document.createElement("small");
      item.id = `found-${number}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      link.href = root + address;
      link.tabIndex = -1;
      link.textContent = `${kind} ${name}`;
      more.textContent = `${module}${text ? ` – ${text}` : ""}`;
      link.append(more);
      item.append(link);
      list.append(item);
    });
    document.getElementById("count").textContent = ranked.length === 1 ? "1 found" : `${ranked.length} found`;
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    if (list.children.length) choose(0);
  };

  box.addEventListener("input", show);
  box.addEventListener("focus", () => box.value && show());
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Escape") {
      box.value = "";
      close();
      return;
    } else if (event.key === "Enter" && chosen >= 0) {
      const link = list.children[chosen].querySelector("a");
      close();
      location.href = link.href;
    } else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
})();
