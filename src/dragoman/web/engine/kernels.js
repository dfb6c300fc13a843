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

  // y = x Wᵀ + b for `count` vectors x next to each other; a new array. Four rows at a time, of two vectors while there
  // are two: what is read and widened to float64 once is multiplied several times.
  linear(x, count, matrix, bias) {
    const { rows, columns, values, scales } = matrix;
    const y = new Float32Array(count * rows);
    const fours = rows - (rows % 4);
    const twos = count - (count % 2);
    const scale = scales ?? new Float32Array(rows).fill(1);
    const added = bias ?? new Float32Array(rows);
    const write = (at, row, sum) => {
      y[at] = SUMS[sum] * scale[row] + added[row];
      y[at + 1] = SUMS[sum + 1] * scale[row + 1] + added[row + 1];
      y[at + 2] = SUMS[sum + 2] * scale[row + 2] + added[row + 2];
      y[at + 3] = SUMS[sum + 3] * scale[row + 3] + added[row + 3];
    };
    for (let row = 0; row < fours; row += 4) {
      for (let vector = 0; vector < twos; vector += 2) {
        eightDots(x, vector * columns, values, row * columns, columns);
        write(vector * rows + row, row, 0);
        write((vector + 1) * rows + row, row, 4);
      }
      if (twos < count) {
        fourDots(x, twos * columns, values, row * columns, columns);
        write(twos * rows + row, row, 0);
      }
    }
    for (let row = fours; row < rows; row++) {
      for (let vector = 0; vector < count; vector++) {
        const sum = dot(x, vector * columns, values, row * columns, columns);
        y[vector * rows + row] = sum * scale[row] + added[row];
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

// The sums of the last call.
const SUMS = new Float64Array(8);

// As `dot`, of one vector and four rows that follow one another.
function fourDots(x, at, w, first, width) {
  const second = first + width;
  const third = second + width;
  const fourth = third + width;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = 0;
  let f = 0;
  let g = 0;
  let h = 0;
  const whole = width - (width % 2);
  for (let i = 0; i < whole; i += 2) {
    const p = x[at + i];
    const q = x[at + i + 1];
    a += p * w[first + i];
    b += p * w[second + i];
    c += p * w[third + i];
    d += p * w[fourth + i];
    e += q * w[first + i + 1];
    f += q * w[second + i + 1];
    g += q * w[third + i + 1];
    h += q * w[fourth + i + 1];
  }
  if (whole < width) {
    const p = x[at + whole];
    a += p * w[first + whole];
    b += p * w[second + whole];
    c += p * w[third + whole];
    d += p * w[fourth + whole];
  }
  SUMS[0] = a + e;
  SUMS[1] = b + f;
  SUMS[2] = c + g;
  SUMS[3] = d + h;
}

// As `dot`, of two vectors and four rows that follow one another: the rows of the first vector, then of the second.
function eightDots(x, at, w, first, width) {
  const next = at + width;
  const second = first + width;
  const third = second + width;
  const fourth = third + width;
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = 0;
  let f = 0;
  let g = 0;
  let h = 0;
  for (let i = 0; i < width; i++) {
    const p = x[at + i];
    const q = x[next + i];
    const k = w[first + i];
    const l = w[second + i];
    const m = w[third + i];
    const n = w[fourth + i];
    a += p * k;
    b += p * l;
    c += p * m;
    d += p * n;
    e += q * k;
    f += q * l;
    g += q * m;
    h += q * n;
  }
  SUMS[0] = a;
  SUMS[1] = b;
  SUMS[2] = c;
  SUMS[3] = d;
  SUMS[4] = e;
  SUMS[5] = f;
  SUMS[6] = g;
  SUMS[7] = h;
}
