// Matrix products in plain JavaScript: the reference of the SIMD kernels. A matrix has `rows` × `columns` values, either
// float32, or int8 with a float32 scale for each row, w = q · scale: what the export computes with.
"use strict";

class PlainKernels {
  // What the page says of the arithmetic.
  get name() {
    return "javascript";
  }

  // A matrix as this kernel reads it: int8 in float32, since a loop over values of one type is a third faster.
  adopt(matrix) {
    return matrix.scales ? { ...matrix, values: new Float32Array(matrix.values) } : matrix;
  }

  // y = x Wᵀ + b for `count` vectors x side by side; a new array.
  linear(x, count, matrix, bias) {
    const { rows, columns, values, scales } = matrix;
    const y = new Float32Array(count * rows);
    const scale = (row) => (scales ? scales[row] : 1);
    const added = (row) => (bias ? bias[row] : 0);
    const pairs = rows - (rows % 2);
    for (let row = 0; row < pairs; row += 2) {
      const [first, second] = [scale(row), scale(row + 1)];
      const [below, above] = [added(row), added(row + 1)];
      for (let vector = 0; vector < count; vector++) {
        twoDots(x, vector * columns, values, row * columns, columns);
        y[vector * rows + row] = SUMS[0] * first + below;
        y[vector * rows + row + 1] = SUMS[1] * second + above;
      }
    }
    for (let row = pairs; row < rows; row++) {
      for (let vector = 0; vector < count; vector++) {
        y[vector * rows + row] = dot(x, vector * columns, values, row * columns, columns) * scale(row) + added(row);
      }
    }
    return y;
  }

  // Row `row` of a matrix times `factor`, written to `y` from `at` on.
  copyRow(matrix, row, factor, y, at) {
    const { columns, values, scales } = matrix;
    const scale = scales ? scales[row] : 1;
    for (let i = 0; i < columns; i++) y[at + i] = Math.fround(values[row * columns + i] * scale) * factor;
  }
}

// Four sums at once, which processors add in parallel; the rest of a width that 4 does not divide comes after.
function dot(x, at, w, first, width) {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  const whole = width - (width % 4);
  for (let i = 0; i < whole; i += 4) {
    a += x[at + i] * w[first + i];
    b += x[at + i + 1] * w[first + i + 1];
    c += x[at + i + 2] * w[first + i + 2];
    d += x[at + i + 3] * w[first + i + 3];
  }
  for (let i = whole; i < width; i++) a += x[at + i] * w[first + i];
  return a + b + c + d;
}

// As `dot`, of two rows that follow one another, so that x is read once for both; the sums are in SUMS.
const SUMS = new Float64Array(2);

function twoDots(x, at, w, first, width) {
  const second = first + width;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = 0;
  let f = 0;
  let g = 0;
  let h = 0;
  const whole = width - (width % 4);
  for (let i = 0; i < whole; i += 4) {
    const p = x[at + i];
    const q = x[at + i + 1];
    const r = x[at + i + 2];
    const s = x[at + i + 3];
    a += p * w[first + i];
    b += q * w[first + i + 1];
    c += r * w[first + i + 2];
    d += s * w[first + i + 3];
    e += p * w[second + i];
    f += q * w[second + i + 1];
    g += r * w[second + i + 2];
    h += s * w[second + i + 3];
  }
  for (let i = whole; i < width; i++) {
    a += x[at + i] * w[first + i];
    e += x[at + i] * w[second + i];
  }
  SUMS[0] = a + b + c + d;
  SUMS[1] = e + f + g + h;
}
