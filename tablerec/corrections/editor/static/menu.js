// A menu where somebody asked for one.

import { make } from "./elements.js";
import { makeIcon } from "./icons.js";
import { text } from "./texts.js";

const KEY_OF_HINT = /[(（]([^()（）]*)[)）]$/; // a hint ends with the keys that do the same

// entries: [{ name, action, isOff? }, null for a line between them, ...]; names are keys of texts.
// close: what is done once it is gone, whether something was chosen or not.
export function openMenu(root, entries, [x, y], close) {
  const menu = make("div", { className: "menu", role: "menu", popover: "manual", ariaLabel: text("menu") });
  const items = [];
  for (const entry of entries.filter((each, index) => each || (index && entries[index - 1] && index < entries.length - 1))) {
    if (!entry) {
      menu.append(make("div", { role: "separator" }));
      continue;
    }
    const item = make("button", { type: "button", role: "menuitem", tabIndex: -1, disabled: Boolean(entry.isOff) });
    const keys = text(`${entry.name}Hint`).match(KEY_OF_HINT)?.[1] ?? "";
    item.dataset.tool = entry.name;
    item.append(makeIcon(entry.name), make("span", { textContent: text(entry.name) }), make("kbd", { textContent: keys, ariaHidden: "true" }));
    item.addEventListener("click", () => { end(); entry.action(); });
    menu.append(item);
    if (!item.disabled) items.push(item);
  }
  const ending = new AbortController();
  const end = () => {
    if (ending.signal.aborted) return;
    ending.abort();
    menu.remove();
    close?.();
  };
  const outside = (event) => { if (!menu.contains(event.target)) end(); };
  menu.addEventListener("keydown", (event) => {
    const here = items.indexOf(document.activeElement);
    const next = { ArrowDown: items[(here + 1) % items.length], ArrowUp: items.at(here < 1 ? -1 : here - 1), Home: items[0], End: items.at(-1) };
    event.stopPropagation();
    if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); end(); }
    if (next[event.key]) { event.preventDefault(); next[event.key].focus(); }
    const isLetter = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.altKey && !event.metaKey;
    const begins = (item) => item.innerText.toLowerCase().startsWith(event.key.toLowerCase());
    if (isLetter) [...items.slice(here + 1), ...items.slice(0, here + 1)].find(begins)?.focus();
  });
  menu.addEventListener("focusin", (event) => { for (const item of items) item.tabIndex = item === event.target ? 0 : -1; });
  menu.addEventListener("contextmenu", (event) => event.preventDefault());
  document.addEventListener("pointerdown", outside, { capture: true, signal: ending.signal });
  window.addEventListener("blur", end, { signal: ending.signal });
  window.addEventListener("resize", end, { signal: ending.signal });
  root.append(menu);
  menu.showPopover();
  const box = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(x, window.innerWidth - box.width - 4))}px`;
  menu.style.top = `${Math.max(4, Math.min(y, window.innerHeight - box.height - 4))}px`;
  items[0]?.focus();
}
