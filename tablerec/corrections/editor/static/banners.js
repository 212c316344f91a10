// What a person must know stands above the table until it is solved, each with its buttons.

import { make, makeButton } from "./elements.js";

export function makeBanners(root) {
  const shown = new Map();

  // buttons: [label, action] each. typed: a text that was not written, to read and to copy.
  function show(key, { message, lang = "", typed = "", buttons = [], isError = true }) {
    const content = JSON.stringify([message, typed, buttons.map(([label]) => label)]);
    if (shown.get(key)?.content === content) return;
    const banner = make("div", { className: isError ? "banner error" : "banner", role: isError ? "alert" : "status" });
    banner.dataset.banner = key;
    banner.append(make("span", { textContent: message, lang }));
    if (typed) banner.append(make("q", { textContent: typed, title: typed }));
    const box = make("div", { className: "group" });
    box.append(...buttons.map(([label, action]) => makeButton(label, "", action)));
    banner.append(box);
    const before = shown.get(key)?.banner;
    if (before) before.replaceWith(banner);
    else root.append(banner);
    shown.set(key, { content, banner });
  }

  function drop(key) {
    shown.get(key)?.banner.remove();
    shown.delete(key);
  }

  return { show, drop, keys: () => [...shown.keys()] };
}

// Where a page may not write into the clipboard by itself, by the way of a selection.
export async function copyText(value) {
  try {
    await navigator.clipboard.writeText(value);
  } catch {
    const box = make("textarea", { value });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}
