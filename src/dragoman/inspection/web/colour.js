// Colour maps: a sequential one, perceptually uniform and safe for colour blindness (after cividis), and a signed one.

const SEQUENTIAL = [
  "#00224e",
  "#123570",
  "#3b496c",
  "#575d6d",
  "#707173",
  "#8a8678",
  "#a59c74",
  "#c3b369",
  "#e1cc55",
  "#fee838",
];
// Its middle is the colour of the paper, so that zero is quiet on a dark screen too.
const SIGNED_DARK = [
  "#8cc4f7",
  "#62a2de",
  "#457fb4",
  "#305c86",
  "#233d57",
  "#22262b",
  "#4a3423",
  "#7c502c",
  "#ad7038",
  "#dc9248",
  "#ffba78",
];
const SIGNED = [
  "#1f4e79",
  "#3f73a5",
  "#6f9bc6",
  "#a9c4de",
  "#dfe8ef",
  "#f6f3ee",
  "#f3e0d0",
  "#e5b48f",
  "#d08555",
  "#b05a28",
  "#803a10",
];

function ramp(stops, at) {
  const position = Math.min(Math.max(at, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(position), stops.length - 2);
  const [a, b] = [stops[low], stops[low + 1]].map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  return a.map((x, i) => Math.round(x + (b[i] - x) * (position - low)));
}

const TABLES = [SEQUENTIAL, SIGNED, SIGNED_DARK].map((stops) => Array.from({ length: 256 }, (_, i) => ramp(stops, i / 255)));

// value → [r, g, b]. Unsigned values run from 0 to the largest, signed ones between ± the largest magnitude.
function scale(values, signed, top) {
  let largest = top || 0;
  if (!top) for (const x of values) if (Number.isFinite(x) && Math.abs(x) > largest) largest = Math.abs(x);
  const table = TABLES[signed ? (isDark() && !matchMedia("print").matches ? 2 : 1) : 0],
    size = largest || 1;
  const colour = (x) => table[Math.round(255 * Math.min(Math.max(signed ? (x / size + 1) / 2 : x / size, 0), 1))];
  return { colour, largest: size, signed };
}

// The end of the scale for weights: 1, or the largest value for block means, which are far below 1.
const topOf = (x) => (x && x.reduced > 1 ? 0 : 1);

// Paint a matrix into a canvas, one pixel per number; −∞ is transparent.
function paint(canvas, values, rows, columns, colours) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    if (!Number.isFinite(values[i])) continue;
    const [r, g, b] = colours.colour(values[i]);
    image.data.set([r, g, b, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

// The legend of a scale: a strip with the values at its ends.
function legend(colours) {
  const strip = document.createElement("canvas");
  const from = colours.signed ? -colours.largest : 0;
  const values = Array.from({ length: 64 }, (_, i) => from + ((colours.largest - from) * i) / 63);
  paint(strip, values, 1, 64, colours);
  strip.className = "strip";
  strip.setAttribute("aria-hidden", "true");
  return el("span.legend", {}, number(from, 2), strip, number(colours.largest, 2));
}
