// How a row of texts goes on: numbers by their step, dates by days or months, names of months and days in turn. What is
// no series is repeated.

const NUMBER = /[-−+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-−+]?\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|[-−+]?\d+(?:[.,]\d+)?/g;
const WHOLE = /\d+/g; // in a text that begins with letters a point is none of a number: v1.9, v1.10
const DAY = 86400000; // milliseconds

const namesOf = (locale, options, dates) => dates.map((date) => new Intl.DateTimeFormat(locale, { timeZone: "UTC", ...options }).format(date));
const YEAR = Array.from({ length: 12 }, (_, at) => Date.UTC(2024, at, 1));
const MONTHS = ["long", "short"].map((month) => namesOf("en", { month }, YEAR));
const WEEK = Array.from({ length: 7 }, (_, at) => Date.UTC(2024, 0, 1 + at));
const CYCLES = [
  ...MONTHS, ...["long", "short"].flatMap((weekday) => ["en", "zh"].map((locale) => namesOf(locale, { weekday }, WEEK))),
  namesOf("zh", { month: "long" }, YEAR),
];

// So many texts that follow these.
export function goOn(texts, count) {
  const next = texts.length > 1 && texts.every((each) => each !== "") && (datesOf(texts) ?? namesIn(texts) ?? numbersIn(texts));
  return Array.from({ length: count }, (_, at) => next ? next(texts.length + at) : texts[at % texts.length]);
}

// The step between all of them; null where there is none.
function stepOf(values) {
  const step = values[1] - values[0];
  return values.every((value, at) => value === values[0] + at * step) ? step : null;
}

// --- numbers, alone or in a text ---

function numbersIn(texts) {
  const pattern = /^[^\d]*\p{L}[^\d]*\d/u.test(texts[0]) ? WHOLE : NUMBER;
  const parts = texts.map((each) => each.split(pattern)), found = texts.map((each) => each.match(pattern) ?? []);
  if (!found[0].length || parts.some((each) => each.join("\0") !== parts[0].join("\0"))) return null;
  const numbers = found[0].map((_, at) => countsOf(found.map((each) => each[at])));
  if (numbers.includes(null)) return null;
  return (index) => parts[0].map((part, at) => part + (numbers[at]?.(index) ?? "")).join("");
}

// Numbers as they are written: their sign, digits before and after the point, and what groups them.
function countsOf(texts) {
  const read = texts.map((each) => {
    const group = each.match(/\.\d{3}\.|,\d{3}(?!\d)/)?.[0][0] ?? "", plain = (group ? each.replaceAll(group, "") : each).replace("−", "-");
    const [whole, decimals = ""] = plain.split(/[.,]/);
    return { whole, decimals, group, point: plain.match(/[.,]/)?.[0] ?? "" };
  });
  const most = Math.max(...read.map(({ decimals }) => decimals.length));
  const values = read.map(({ whole, decimals }) => Number(whole + decimals.padEnd(most, "0"))), step = stepOf(values);
  if (step === null || values.some((value) => !Number.isSafeInteger(value))) return null;
  const [point, group] = ["point", "group"].map((name) => read.find((each) => each[name])?.[name] ?? "");
  const padded = read.find(({ whole }) => /^[-+]?0\d/.test(whole)), width = padded ? padded.whole.replace(/^[-+]/, "").length : 1;
  const minus = texts.some((each) => each.startsWith("−")) ? "−" : "-", plus = texts.every((each) => each.startsWith("+")) ? "+" : "";
  return (index) => {
    const value = values[0] + index * step, digits = String(Math.abs(value)).padStart(most + width, "0");
    const whole = most ? digits.slice(0, -most) : digits, grouped = group ? whole.replace(/\B(?=(\d{3})+$)/g, group) : whole;
    return (value < 0 ? minus : value ? plus : "") + grouped + (most ? point + digits.slice(-most) : "");
  };
}

// --- names that begin again after the last ---

function namesIn(texts) {
  const names = CYCLES.find((each) => texts.every((text) => each.includes(text))), places = names && texts.map((each) => names.indexOf(each));
  const step = places && (places[1] - places[0] + names.length) % names.length;
  if (!places?.every((place, at) => place === (places[0] + at * step) % names.length)) return null;
  return (index) => names[(places[0] + index * step) % names.length];
}

// --- dates ---

// Each way to write one: what is found in it, in the order in which it stands there.
const FORMATS = [
  [/^(?<y>\d{4})([-/.]|\u5e74)(?<m>\d{1,2})([-/.]|\u6708)(?<d>\d{1,2})(\u65e5?)$/, ["y", 2, "m", 4, "d", 6]],
  [/^(?<d>\d{1,2})([-/.])(?<m>\d{1,2})([-/.])(?<y>\d{4}|\d\d)$/, ["d", 2, "m", 4, "y"]],
  [/^(?<m>\d{1,2})([-/])(?<d>\d{1,2})([-/])(?<y>\d{4}|\d\d)$/, ["m", 2, "d", 4, "y"]],
  [/^(?<y>\d{4})([-/]|\u5e74)(?<m>\d{1,2})(\u6708?)$/, ["y", 2, "m", 4]],
  [/^(?<m>\d{1,2})([-/])(?<y>\d{4})$/, ["m", 2, "y"]],
  [/^(?<m>[A-Z][a-z]+)([ -])(?<y>\d{4})$/, ["m", 2, "y"]],
];

function datesOf(texts) {
  const isMonthFirst = navigator.language === "en-US";
  const formats = isMonthFirst ? [FORMATS[0], FORMATS[2], FORMATS[1], ...FORMATS.slice(3)] : FORMATS;
  for (const [pattern, order] of formats) {
    const dates = texts.map((each) => dateOf(each.match(pattern)));
    const next = dates.every(Boolean) && stepsOf(dates);
    if (next) return (index) => written(next(index), texts, dates[0], order);
  }
  return null;
}

function dateOf(found) {
  if (!found) return null;
  const { y, m, d = "1" } = found.groups, names = MONTHS.find((each) => each.includes(m));
  const [year, month, day] = [Number(y) + (y.length < 3 ? 2000 : 0), names ? names.indexOf(m) : Number(m) - 1, Number(d)];
  const time = Date.UTC(year, month, day), date = new Date(time);
  return date.getUTCMonth() === month && date.getUTCDate() === day ? { year, month, day, time, found, names } : null;
}

const lengthOf = (year, month) => new Date(Date.UTC(year, month + 1, 0)).getUTCDate();

// By whole months where the day is the same, or always the last one; else by days.
function stepsOf(dates) {
  const months = stepOf(dates.map(({ year, month }) => 12 * year + month)), [first] = dates;
  const areEnds = dates.every(({ year, month, day }) => day === lengthOf(year, month)), day = Math.max(...dates.map((each) => each.day));
  const areSame = dates.every(({ year, month, day: each }) => each === Math.min(day, lengthOf(year, month)));
  if (months && (areEnds || areSame)) {
    return (index) => {
      const at = 12 * first.year + first.month + index * months, [year, month] = [Math.floor(at / 12), at % 12];
      return { year, month, day: areEnds ? lengthOf(year, month) : Math.min(day, lengthOf(year, month)) };
    };
  }
  const step = stepOf(dates.map(({ time }) => time / DAY));
  if (step === null) return null;
  return (index) => {
    const date = new Date(first.time + index * step * DAY);
    return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() };
  };
}

// As the first one is written; with noughts in front where any of them has some, or none would need one.
function written({ year, month, day }, texts, { found, names }, order) {
  const isPadded = texts.some((each) => /(^|\D)0\d(\D|$)/.test(each)) || !texts.some((each) => /\u5e74|(^|\D)\d(\D|$)/.test(each)), pad = (value) => isPadded ? String(value).padStart(2, "0") : String(value);
  const parts = { y: found.groups.y.length < 3 ? String(year % 100).padStart(2, "0") : String(year), m: names ? names[month] : pad(month + 1), d: pad(day) };
  return order.map((each) => parts[each] ?? found[each]).join("");
}
