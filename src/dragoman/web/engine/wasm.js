// The kernels of `kernels.c`, compiled to WebAssembly SIMD: float32 arithmetic as in plain JavaScript, in another order.
// Matrices live in the memory of the module, and vectors are copied into it.
"use strict";

const PAGE = 65536;

class SimdKernels {
  // `code`: the bytes of the module; `bytes`: what the matrices need. Fails where WebAssembly or SIMD is not allowed.
  static async start(code, bytes) {
    const { instance } = await WebAssembly.instantiate(code, {});
    return new SimdKernels(instance.exports, bytes);
  }

  constructor(exports, bytes) {
    this.exports = exports;
    this.top = exports.__heap_base.value;
    this.input = this.output = { at: 0, size: 0 };
    this._reserve(bytes);
  }

  get name() {
    return "wasm";
  }

  // The matrix in the module's memory. Its values in the block of the page are needed no more.
  adopt(matrix) {
    const { rows, columns, values, scales } = matrix;
    // Rows are read four values (float32) or sixteen (int8) at a time; other widths stay in plain JavaScript.
    if (columns % (scales ? 16 : 4)) return matrix;
    return { rows, columns, at: this._store(values), scales: scales && this._store(scales) };
  }

  linear(x, count, matrix, bias) {
    if (matrix.at === undefined) return PlainKernels.prototype.linear.call(this, x, count, matrix, bias);
    const { rows, columns, at, scales } = matrix;
    this.input = this._buffer(this.input, 4 * count * columns);
    this.output = this._buffer(this.output, 4 * count * rows);
    this._floats(this.input.at, count * columns).set(x.subarray(0, count * columns));
    const { exports } = this;
    if (scales) exports.linear_int8(this.input.at, count, columns, at, scales, rows, this.output.at);
    else exports.linear_float32(this.input.at, count, columns, at, rows, this.output.at);
    const y = this._floats(this.output.at, count * rows).slice();
    if (bias) for (let i = 0; i < y.length; i++) y[i] += bias[i % rows];
    return y;
  }

  copyRow(matrix, row, factor, y, to) {
    const { columns, at, scales } = matrix;
    if (at === undefined) return PlainKernels.prototype.copyRow.call(this, matrix, row, factor, y, to);
    const { buffer } = this.exports.memory;
    const whole = { columns, values: new (scales ? Int8Array : Float32Array)(buffer, at), scales: null };
    if (scales) whole.scales = new Float32Array(buffer, scales);
    return PlainKernels.prototype.copyRow.call(this, whole, row, factor, y, to);
  }

  _floats(at, count) {
    return new Float32Array(this.exports.memory.buffer, at, count);
  }

  _store(values) {
    const at = this._allocate(values.byteLength);
    new values.constructor(this.exports.memory.buffer, at, values.length).set(values);
    return at;
  }

  _buffer(buffer, size) {
    return size <= buffer.size ? buffer : { at: this._allocate(2 * size), size: 2 * size };
  }

  _allocate(size) {
    const at = (this.top + 15) & ~15;
    this.top = at + size;
    this._reserve(0);
    return at;
  }

  _reserve(bytes) {
    const lacking = this.top + bytes - this.exports.memory.buffer.byteLength;
    if (lacking > 0) this.exports.memory.grow(Math.ceil(lacking / PAGE));
  }
}
