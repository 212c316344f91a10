// A menu at a point of the page, for the mouse and for the keyboard alone.

import { make } from "./elements.js";

// items: { label, keys, action, isOff } each, or null for a line between. Without an action chosen, and after one, the
// focus is given back.
export function openMenu(root, { label, items, x, y, giveBack }) {
  const menu = make("div", { className: "menu", role: "menu", ariaLabel: label });
  const buttons = [];
  let typed = "", since = 0;
  for (const item of items) {
    if (!item) { menu.append(make("div", { role: "separator" })); continue; }
    const button = make("div", { role: "menuitem", tabIndex: -1, ariaDisabled: String(Boolean(item.isOff)) });
    button.append(make("span", { textContent: item.label }), make("kbd", { textContent: item.keys ?? "", ariaHidden: "true" }));
    if (item.keys) button.setAttribute("aria-keyshortcuts", item.keys.replaceAll("Ctrl", "Control"));
    button.addEventListener("click", () => choose(item));
    button.addEventListener("pointermove", () => { if (document.activeElement !== button) button.focus(); });
    buttons.push(button);
    menu.append(button);
  }
  const ending = new AbortController(), { signal } = ending;

  function close() {
    if (signal.aborted) return;
    ending.abort();
    menu.remove();
    giveBack();
  }

  function choose(item) {
    if (item.isOff) return;
    close();
    item.action();
  }

  const goTo = (index) => buttons.at(index % buttons.length).focus();

  menu.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const at = buttons.indexOf(document.activeElement), { key } = event;
    if (key === "ArrowDown") goTo(at + 1);
    else if (key === "ArrowUp") goTo(at < 0 ? -1 : at - 1);
    else if (key === "Home") goTo(0);
    else if (key === "End") goTo(-1);
    else if (key === "Escape" || key === "Tab") close();
    else if (key === "Enter" || key === " ") buttons[at]?.click();
    else if (key.length === 1 && !event.ctrlKey && !event.altKey) {
      typed = event.timeStamp - since < 700 ? typed + key.toLowerCase() : key.toLowerCase();
      since = event.timeStamp;
      const from = typed.length > 1 ? at : at + 1, order = [...buttons.slice(from), ...buttons.slice(0, from)];
      order.find((each) => each.textContent.toLowerCase().startsWith(typed))?.focus();
    } else return;
    event.preventDefault();
  });
  menu.addEventListener("contextmenu", (event) => event.preventDefault());
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) close(); }, { signal, capture: true });
  window.addEventListener("blur", close, { signal });
  window.addEventListener("resize", close, { signal });

  root.append(menu);
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(0, Math.min(x, window.innerWidth - width - 4))}px`;
  menu.style.top = `${Math.max(0, Math.min(y, window.innerHeight - height - 4))}px`;
  goTo(0);
  return close;
}
