// Points, cells and lines. A quad is eight numbers, corners TL, TR, BR, BL, in pixels of the picture; of a table that
// runs from right to left TR, TL, BL, BR, so that the first side of a cell is where reading begins.

export const SIDES = { row: [[0, 1], [3, 2]], col: [[0, 3], [1, 2]] }; // corners of the first and the last side
export const OTHER = { row: "col", col: "row" };
const THINNEST = 1; // pixels of the picture that a cell keeps, as in postprocess/editing/steps.py

export const clamp = (value, low, high) => Math.max(low, Math.min(value, Math.max(low, high)));
export const point = (quad, index) => [quad[2 * index], quad[2 * index + 1]];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
export const minus = (a, b) => [a[0] - b[0], a[1] - b[1]];
export const span = (cell, axis) => axis === "row" ? [cell.row, cell.row + cell.rowspan] : [cell.col, cell.col + cell.colspan];

// x0, y0, x1, y1 around the points of x, y, x, y, ...
export function bounds(values) {
  const xs = values.filter((_, index) => index % 2 === 0), ys = values.filter((_, index) => index % 2);
  const least = (all) => all.reduce((a, b) => Math.min(a, b), Infinity), most = (all) => all.reduce((a, b) => Math.max(a, b), -Infinity);
  return [least(xs), least(ys), most(xs), most(ys)];
}

export function distanceToSegment(p, a, b) {
  const [dx, dy] = minus(b, a), length = dx * dx + dy * dy;
  const share = length ? clamp(((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length, 0, 1) : 0;
  return Math.hypot(p[0] - a[0] - share * dx, p[1] - a[1] - share * dy);
}

export function isInside(p, q) {
  let inside = false;
  for (let i = 0, j = 3; i < 4; j = i++) {
    const [ax, ay, bx, by] = [q[2 * i], q[2 * i + 1], q[2 * j], q[2 * j + 1]];
    if ((ay > p[1]) !== (by > p[1]) && p[0] < (bx - ax) * (p[1] - ay) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

export const findCell = (state, p) => state.cells.find((cell) => cell.quad && isInside(p, cell.quad));

// The line within this reach of a point, and where along it.
export function findLine(state, p, reach) {
  let best = null, nearest = reach;
  for (const cell of state.cells) {
    if (!cell.quad) continue;
    for (const axis of ["row", "col"]) {
      SIDES[axis].forEach(([a, b], side) => {
        const distance = distanceToSegment(p, point(cell.quad, a), point(cell.quad, b));
        if (distance < nearest) {
          nearest = distance;
          best = { axis, line: span(cell, axis)[side], at: span(cell, OTHER[axis])[0] };
        }
      });
    }
  }
  return best;
}

// Which cells a moved line touches, and how far it may go: as in postprocess/editing/steps.py.
export function hold(state, hit, one) {
  const { axis, line } = hit, across = OTHER[axis];
  const onLine = state.cells.filter((cell) => cell.quad && span(cell, axis).includes(line));
  let first = one ? hit.at : 0, last = one ? hit.at + 1 : Infinity;
  for (let grown = one; grown;) {
    grown = false;
    for (const cell of onLine) {
      const [start, end] = span(cell, across);
      if (start < last && end > first && (start < first || end > last)) {
        [first, last, grown] = [Math.min(first, start), Math.max(last, end), true];
      }
    }
  }
  const sides = new Map();
  let low = -Infinity, high = Infinity;
  for (const cell of onLine) {
    const start = span(cell, across)[0];
    if (start < first || start >= last) continue;
    const side = span(cell, axis)[0] === line ? 0 : 1, direction = state.directions[axis];
    const room = Math.min(...[0, 1].map((index) =>
      dot(minus(point(cell.quad, SIDES[axis][1][index]), point(cell.quad, SIDES[axis][0][index])), direction))) - THINNEST;
    if (side) low = Math.max(low, Math.min(-room, 0));
    else high = Math.min(high, Math.max(room, 0));
    sides.set(cell, SIDES[axis][side]);
  }
  return { ...hit, one, sides, low, high, offset: 0 };
}

// The quad of a cell on a line that is being moved.
export function shifted(state, cell, hit) {
  const quad = [...cell.quad], direction = state.directions[hit.axis];
  for (const corner of hit.sides.get(cell)) {
    quad[2 * corner] += hit.offset * direction[0];
    quad[2 * corner + 1] += hit.offset * direction[1];
  }
  return quad;
}

// The row (or column) and the place in it where a new line would be drawn through a point.
export function findDivision(state, axis, p) {
  const down = state.directions[axis], along = state.directions[OTHER[axis]];
  const cross = down[0] * along[1] - down[1] * along[0] || 1;
  let best = null, nearest = Infinity;
  for (const cell of state.cells) {
    const [index, end] = span(cell, axis);
    if (!cell.quad || end - index !== 1) continue;
    const [a, b] = SIDES[axis][0], start = point(cell.quad, a);
    const from = minus(p, start), side = minus(point(cell.quad, SIDES[axis][1][0]), start);
    const fraction = (from[0] * along[1] - from[1] * along[0]) / cross / Math.max(dot(side, down), 1e-6);
    if (fraction <= .02 || fraction >= .98) continue;
    const distance = distanceToSegment(p, start, point(cell.quad, b));
    if (distance < nearest) [nearest, best] = [distance, { index, fraction }];
  }
  return best;
}
