// The weights of a page: a block of bytes and an index that says where each matrix is.
"use strict";

class DamagedWeights extends Error {}

// The bytes of a base64 text. Raises DamagedWeights if they are not `size` bytes of this Adler-32 checksum.
function bytesOf(base64, size, checksum) {
  let binary = "";
  try {
    binary = atob(base64);
  } catch {
    throw new DamagedWeights("cut");
  }
  if (binary.length !== size) throw new DamagedWeights("cut");
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i++) bytes[i] = binary.charCodeAt(i);
  if (adler32(bytes) !== checksum) throw new DamagedWeights("changed");
  return bytes;
}

function adler32(bytes) {
  let [a, b] = [1, 0];
  for (let at = 0; at < bytes.length; ) {
    // Sums of 3800 bytes stay below 2^32.
    const end = Math.min(at + 3800, bytes.length);
    for (; at < end; at++) b += a += bytes[at];
    a %= 65521;
    b %= 65521;
  }
  return b * 65536 + a;
}

// Matrices and vectors by name, as the kernels read them. In the index an entry has kind, shape and offsets; a text is
// the name of another entry that has the same values.
function tensorsOf(index, bytes, kernels) {
  const tensors = {};
  for (const [name, entry] of Object.entries(index)) {
    if (typeof entry !== "string") tensors[name] = tensorOf(entry, bytes.buffer, kernels);
  }
  for (const [name, entry] of Object.entries(index)) if (typeof entry === "string") tensors[name] = tensors[entry];
  return tensors;
}

function tensorOf({ kind, shape, at, scales }, buffer, kernels) {
  const count = shape.reduce((product, size) => product * size, 1);
  const [rows, columns] = shape;
  if (kind === "int8") {
    const matrix = { rows, columns, values: new Int8Array(buffer, at, count) };
    return kernels.adopt({ ...matrix, scales: new Float32Array(buffer, scales, rows) });
  }
  const values = kind === "float16" ? widened(new Uint16Array(buffer, at, count)) : new Float32Array(buffer, at, count);
  // A vector is copied, so that the block need not stay in memory.
  return shape.length > 1 ? kernels.adopt({ rows, columns, values }) : values.slice();
}

// The value of each float16; made once, where one is first needed.
let float16Values;

// float16 → float32.
function widened(halves) {
  float16Values ??= tableOfFloat16();
  return Float32Array.from(halves, (bits) => float16Values[bits]);
}

function tableOfFloat16() {
  const table = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const value = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    table[bits] = bits >> 15 ? -value : value;
  }
  return table;
}
