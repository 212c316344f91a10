// What the page remembers of its reader: how it looks for good, where they were in a table until the tab is closed.

const PREFIX = "tablerec-";
const forgotten = new Map(); // where a page may not remember, it does until it is closed

// sort: "local" for good, "session" until the tab is closed.
export function recall(key, otherwise, sort = "local") {
  try {
    return JSON.parse(window[`${sort}Storage`].getItem(PREFIX + key)) ?? forgotten.get(key) ?? otherwise;
  } catch {
    return forgotten.get(key) ?? otherwise;
  }
}

export function remember(key, value, sort = "local") {
  forgotten.set(key, value);
  try {
    window[`${sort}Storage`].setItem(PREFIX + key, JSON.stringify(value));
  } catch { /* full, or forbidden */ }
}

// --- the theme: as the system has it, or as it was chosen ---

const THEMES = ["auto", "light", "dark"];

export const theme = () => THEMES.includes(recall("theme")) ? recall("theme") : "auto";

export function showTheme() {
  document.documentElement.dataset.tablerecTheme = theme();
}

export function switchTheme() {
  remember("theme", THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  showTheme();
}
