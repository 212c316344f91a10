// Signs of the tools, drawn in a square of 20. What a tool does is in the accent's colour, what it does it to is not.

const NAMESPACE = "http://www.w3.org/2000/svg";
const FRAME = "M3 4h14v12H3z", CIRCLE = "M10 3.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 0 1 0-13z";
const GLASS = "M8.5 3.5a5 5 0 1 1 0 10a5 5 0 0 1 0-10zM12.2 12.2 17 17", CORNERS = "M3 7V3.5h4M13 3.5h4V7M17 13v3.5h-4M7 16.5H3V13";
// Each: [path, class]; "mark" has the accent's colour, "dashed" is dashed, "full" is filled with it.
const ICONS = {
  undo: [["M7 4.5 3.5 8 7 11.5M3.5 8H12a4.25 4.25 0 0 1 0 8.5H8"]],
  redo: [["M13 4.5 16.5 8 13 11.5M16.5 8H8a4.25 4.25 0 0 0 0 8.5h4"]],
  restore: [["M4.2 12a6.2 6.2 0 1 0 .9-5.6L3.5 8M3.5 4v4h4M10 6.8V10l2.3 1.6"]],
  rowLine: [[FRAME], ["M1.5 10h17", "mark"]],
  colLine: [[FRAME], ["M10 2v16", "mark"]],
  oneBorder: [[FRAME], ["M10 4v12M3 10h7"], ["M10 10h7", "mark thick"]],
  joinRows: [[FRAME], ["M3 10h14", "mark dashed"]],
  joinCols: [[FRAME], ["M10 4v12", "mark dashed"]],
  merge: [[FRAME], ["M10 4v2.2M10 13.8V16"], ["M5 10h3M7 8.4 8.6 10 7 11.6M15 10h-3M13 8.4 11.4 10l1.6 1.6", "mark"]],
  split: [[FRAME], ["M10 4v12M8.2 10H5M6.6 8.4 5 10l1.6 1.6M11.8 10H15M13.4 8.4 15 10l-1.6 1.6", "mark"]],
  top: [["M3 11.5h14V17H3z"], ["M10 2.5v6M7 5.5h6", "mark"]],
  bottom: [["M3 3h14v5.5H3z"], ["M10 11.5v6M7 14.5h6", "mark"]],
  left: [["M11.5 3H17v14h-5.5z"], ["M2.5 10h6M5.5 7v6", "mark"]],
  right: [["M3 3h5.5v14H3z"], ["M11.5 10h6M14.5 7v6", "mark"]],
  dropRows: [["M3 6.5V4h14v2.5M3 13.5V16h14v-2.5"], ["M7.5 7.5l5 5M12.5 7.5l-5 5", "mark"]],
  dropCols: [["M6.5 3H4v14h2.5M13.5 3H16v14h-2.5"], ["M7.5 7.5l5 5M12.5 7.5l-5 5", "mark"]],
  headerRows: [["M3 4h14v4H3z", "full"], [FRAME], ["M3 12h14M10 8v8"]],
  headerCols: [["M3 4h5v12H3z", "full"], [FRAME], ["M8 10h9M12.5 4v12"]],
  section: [["M3 8h14v4H3z", "full"], [FRAME], ["M10 4v4M10 12v4"]],
  doubt: [["M10 3.5 17.3 16.5H2.7z"], ["M10 8.3v4M10 14.3v.2", "mark"]],
  find: [[GLASS]],
  proof: [["M3 3.5h14v5.5H3z"], ["M3 12.5h6M3 16h4"], ["M10.5 14l2.5 2.5 4.5-5", "mark"]],
  out: [[GLASS], ["M6.2 8.5h4.6", "mark"]],
  in: [[GLASS], ["M6.2 8.5h4.6M8.5 6.2v4.6", "mark"]],
  fit: [[CORNERS], ["M6.5 7h7v6h-7zM6.5 10h7", "mark"]],
  cell: [["M10 2v3M10 15v3M2 10h3M15 10h3"], ["M6 7.5h8v5H6z", "mark"]],
  lens: [[GLASS], ["M6 7.2h5M6 9.8h3.4", "mark"]],
  side: [[FRAME], ["M10 4v12", "mark"]],
  above: [[FRAME], ["M3 10h14", "mark"]],
  theme: [[CIRCLE], ["M10 3.5a6.5 6.5 0 0 1 0 13z", "full"]],
  help: [[CIRCLE], ["M8 8a2 2 0 1 1 2.9 1.9c-.6.3-.9.7-.9 1.4M10 13.6v.2", "mark"]],
  frame: [["M3 4h14v12H3z", "dashed"], ["M10 7v6M7 10h6", "mark"]],
  reject: [[FRAME], ["M3 10h14M10 4v12"], ["M2.5 17.5l15-15", "mark"]],
  save: [["M4 3.5h9.5l3 3v10H4zM7 3.5V7h5.5V3.5M7 16.5v-5h6.5v5"]],
  saveNext: [["M4 10h11.5M11 5.5l4.5 4.5L11 14.5"]],
  read: [[CORNERS], ["M6.5 8h7M6.5 12h4.5", "mark"]],
  words: [["M3.5 14 7 5l3.5 9M4.7 11h4.6"], ["M14.5 8v8M11.8 12h5.4", "mark"]],
  edit: [["M4 16l.8-3.4L13 4.4l2.6 2.6-8.2 8.2z"], ["M11.5 6l2.6 2.6", "mark"]],
  near: [["M10 2v3M10 15v3M2 10h3M15 10h3"], ["M6 7.5h8v5H6z", "mark"]],
  place: [["M4 9v7.5h12V9"], ["M10 3v9M7 9l3 3 3-3", "mark"]],
  confirm: [["M4 10.5l4 4 8.5-9", "mark"]],
  resetText: [["M3.5 14 7 5l3.5 9M4.7 11h4.6"], ["M17 8.5h-4a2.5 2.5 0 0 0 0 5h1.5M15 6.5l2 2-2 2", "mark"]],
  cut: [["M5.8 14.8a1.9 1.9 0 1 0 0 .1M16.2 14.8a1.9 1.9 0 1 0 0 .1M5.5 3.5l7.6 9.4M14.5 3.5l-7.6 9.4"]],
  copy: [["M7 7h9.5v9.5H7z"], ["M4.5 13H3.5V3.5H13v1"]],
  paste: [["M5 4.5H3.8v12.7h12.4V4.5H15"], ["M7 3h6v3H7z", "mark"]],
  fillDown: [["M4 3h12v4H4z"], ["M10 9v8M7 14l3 3 3-3", "mark"]],
  fillRight: [["M3 4h4v12H3z"], ["M9 10h8M14 7l3 3-3 3", "mark"]],
  clear: [["M3 4h14v12H3z"], ["M7.5 7.5l5 5M12.5 7.5l-5 5", "mark"]],
  insertRow: [["M3 11.5h14V17H3z"], ["M10 2.5v6M7 5.5h6", "mark"]],
  insertRowAfter: [["M3 3h14v5.5H3z"], ["M10 11.5v6M7 14.5h6", "mark"]],
  insertCol: [["M11.5 3H17v14h-5.5z"], ["M2.5 10h6M5.5 7v6", "mark"]],
  insertColAfter: [["M3 3h5.5v14H3z"], ["M11.5 10h6M14.5 7v6", "mark"]],
  list: [["M3 5.5h14M3 10h14M3 14.5h14"]],
  close: [["M5 5l10 10M15 5 5 15"]],
};

// One of them, for the eye alone: whatever holds it has a name.
export function makeIcon(name) {
  const icon = document.createElementNS(NAMESPACE, "svg");
  icon.setAttribute("viewBox", "0 0 20 20");
  icon.setAttribute("class", "icon");
  icon.setAttribute("aria-hidden", "true");
  for (const [path, className = ""] of ICONS[name] ?? []) {
    const part = document.createElementNS(NAMESPACE, "path");
    part.setAttribute("d", path);
    part.setAttribute("class", className);
    icon.append(part);
  }
  return icon;
}
