// Matrix products in plain JavaScript: the reference of the SIMD kernels. A matrix has `rows` × `columns` values, either
// float32, or int8 with a float32 scale for each row, w = q · scale: what the export computes with.
"use strict";

class PlainKernels {
  // What the page says of the arithmetic.
  get name() {
    return "javascript";
  }

  // A matrix as this kernel reads it.
  adopt(matrix) {
    return matrix;
  }

  // y = x Wᵀ + b for `count` vectors x side by side; a new array.
  linear(x, count, matrix, bias) {
    const { rows, columns, values, scales } = matrix;
    const y = new Float32Array(count * rows);
    for (let row = 0; row < rows; row++) {
      const first = row * columns;
      const scale = scales ? scales[row] : 1;
      const added = bias ? bias[row] : 0;
      for (let vector = 0; vector < count; vector++) {
        y[vector * rows + row] = dot(x, vector * columns, values, first, columns) * scale + added;
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
