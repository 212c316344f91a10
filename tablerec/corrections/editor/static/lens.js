// The magnifier: the chosen cell as it is in the picture, large, above the sheet.

import { make } from "./elements.js";
import { bounds } from "./geometry.js";
import { text } from "./texts.js";

const AROUND = .35; // of a cell's height, shown around it
const LARGEST = 6; // pixels of the screen for one of the picture

export function makeLens(editor, element, image) {
  const canvas = make("canvas", { role: "img" });
  element.append(canvas);

  function show() {
    const cell = editor.current();
    element.hidden = !editor.magnifies;
    if (element.hidden) return;
    canvas.ariaLabel = cell ? text("lensOf", cell.row + 1, cell.col + 1) : text("lens");
    if (cell?.quad && image.complete) drawCrop(canvas, image, cell.quad, element.clientWidth, element.clientHeight);
  }
  image.addEventListener("load", show);
  const observer = new ResizeObserver(show);
  observer.observe(element);
  return { show, destroy: () => observer.disconnect() };
}

// A part of a picture around a quad, as large as it fits in so many pixels of the screen. Returns where it begins in the
// picture, and how many pixels of the canvas one of the picture has.
export function drawCrop(canvas, image, quad, width, height) {
  const [x0, y0, x1, y1] = bounds(quad), margin = AROUND * Math.min(y1 - y0, 40);
  const x = Math.max(0, x0 - margin), y = Math.max(0, y0 - margin);
  const w = Math.max(1, Math.min(image.naturalWidth, x1 + margin) - x);
  const h = Math.max(1, Math.min(image.naturalHeight, y1 + margin) - y);
  const scale = Math.max(.01, Math.min(width / w, height / h, LARGEST)), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(w * scale * ratio));
  canvas.height = Math.max(1, Math.round(h * scale * ratio));
  Object.assign(canvas.style, { width: `${w * scale}px`, height: `${h * scale}px` });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, x, y, w, h, 0, 0, canvas.width, canvas.height);
  return { x, y, scale: scale * ratio };
}
