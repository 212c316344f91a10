// Returns where everything is: {size, cells, words, inks}, in pixels of CSS.
// cells: [index, x0, y0, x1, y1]; inks (boxes, leaders): [index, x0, y0, x1, y1];
// words: [text, index, line, turned, box of the ink..., first and last y of the type: those of any word in this font].
(() => {
  const range = document.createRange();
  const brush = document.createElement("canvas").getContext("2d");
  const fonts = new Map();
  const SPACE = /\s/;

  function fontOf(element) {
    const style = getComputedStyle(element);
    const name = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    if (!fonts.has(name)) {
      fonts.set(name, { name, size: parseFloat(style.fontSize), ascent: ascentOf(name), inks: new Map() });
    }
    return fonts.get(name);
  }

  // From the top of a text's box down to its base line, on which an empty box stands. Metrics of the font do not say
  // it: the browser rounds them, and some fonts have several.
  function ascentOf(name) {
    const probe = document.createElement("div");
    probe.style.cssText = "position:absolute;left:0;top:0;white-space:nowrap;visibility:hidden";
    probe.style.font = name;
    probe.innerHTML = '<span>x</span><i style="display:inline-block;width:0;height:0"></i>';
    document.body.append(probe);
    const [text, foot] = [...probe.children].map((child) => child.getBoundingClientRect());
    probe.remove();
    return foot.bottom - text.top;
  }

  // Left and right of the pen's way, above and below the base line.
  function inkOf(text, font) {
    if (!font.inks.has(text)) {
      brush.font = font.name;
      const m = brush.measureText(text);
      font.inks.set(text, [
        -m.actualBoundingBoxLeft, m.actualBoundingBoxRight - m.width, m.actualBoundingBoxAscent,
        m.actualBoundingBoxDescent,
      ]);
    }
    return font.inks.get(text);
  }

  function rectOf(node, start, end) {
    range.setStart(node, start);
    range.setEnd(node, end);
    return [...range.getClientRects()].filter((rect) => rect.width > 0 && rect.height > 0);
  }

  // Splits a token where it is broken into lines: [start, end, rect].
  function piecesOf(node, start, end, upright) {
    const rects = rectOf(node, start, end);
    if (rects.length <= 1) return rects.map((rect) => [start, end, rect]);
    const pieces = [];
    for (let at = start; at < end; ) {
      const next = at + (node.data.codePointAt(at) > 0xffff ? 2 : 1);
      const rect = rectOf(node, at, next).pop();
      const last = pieces[pieces.length - 1];
      if (rect === undefined) {
        if (last) last[1] = next;
      } else if (last && (upright ? sameColumn(last[2], rect) : sameLine(last[2], rect))) {
        last[1] = next;
        last[2] = union(last[2], rect);
      } else {
        pieces.push([at, next, rect]);
      }
      at = next;
    }
    return pieces;
  }

  const union = (a, b) => {
    const left = Math.min(a.left, b.left), top = Math.min(a.top, b.top);
    return new DOMRect(left, top, Math.max(a.right, b.right) - left, Math.max(a.bottom, b.bottom) - top);
  };
  const sameLine = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.3 * Math.min(a.height, b.height);
  const sameColumn = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.3 * Math.min(a.width, b.width);

  function boxOf(text, rect, font, way) {
    const [before, behind, above, below] = inkOf(text, font);
    if (way === "up") {
      const base = rect.left + font.ascent;
      return [base - above, rect.top - behind, base + below, rect.bottom - before];
    }
    const base = rect.top + font.ascent;
    return [rect.left + before, base - above, rect.right + behind, base + below];
  }

  function typeOf(rect, font, way) {
    if (way === "up") return [rect.top, rect.bottom];
    const base = rect.top + font.ascent;
    return [base - 0.75 * font.size, base + 0.2 * font.size];
  }

  function wordsOf(holder) {
    const index = Number(holder.dataset.cell), words = [];
    const walker = document.createTreeWalker(holder, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    let line = 0, last = null, isOpen = false;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.tagName === "BR") { line += 1; last = null; isOpen = false; }
        continue;
      }
      const parent = node.parentElement, font = fontOf(parent);
      const way = parent.closest(".up") ? "up" : parent.closest(".stacked") ? "stacked" : "";
      for (const match of node.data.matchAll(/\S+/g)) {
        const pieces = piecesOf(node, match.index, match.index + match[0].length, way === "up");
        pieces.forEach(([start, end, rect], number) => {
          const text = node.data.slice(start, end);
          const box = boxOf(text, rect, font, way), type = typeOf(rect, font, way);
          const word = words[words.length - 1];
          if (isOpen && match.index === 0 && number === 0 && word) {
            // What hangs on the word before: a sign or a mark.
            word[0] += text;
            [0, 1].forEach((at) => { word[4 + at] = Math.min(word[4 + at], box[at]); });
            [2, 3].forEach((at) => { word[4 + at] = Math.max(word[4 + at], box[at]); });
            if (way === "stacked") word[9] = type[1];
            return;
          }
          if (last && !(way ? sameColumn(last, rect) : sameLine(last, rect))) line += 1;
          last = rect;
          words.push([text, index, line, way === "up", ...box, ...type]);
        });
      }
      if (node.data.length) isOpen = !SPACE.test(node.data[node.data.length - 1]);
    }
    return words;
  }

  const place = (element) => {
    const rect = element.getBoundingClientRect();
    return [rect.left, rect.top, rect.right, rect.bottom];
  };
  const size = document.querySelector("main").getBoundingClientRect();
  return {
    size: [size.width, size.height],
    cells: [...document.querySelectorAll("td")].map((cell) => [Number(cell.dataset.cell), ...place(cell)]),
    inks: [...document.querySelectorAll(".ink")].map((item) => [
      Number(item.closest("[data-cell]").dataset.cell), ...place(item),
    ]),
    words: [...document.querySelectorAll("[data-cell]")].flatMap(wordsOf),
  };
})()
