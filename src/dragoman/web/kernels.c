/* Matrix products y = W x for a page, compiled to WebAssembly SIMD by `make kernels`.

   Vectors x of `columns` float32 lie side by side, `count` of them; W has `rows` rows, of float32 or of int8 with a
   factor for each row. Sums are of float32 in four lanes. Four vectors share what is read of a row. */

#include <wasm_simd128.h>

#define EXPORT __attribute__((visibility("default")))
#define BLOCK 4

static inline float sum(v128_t v) {
  return (wasm_f32x4_extract_lane(v, 0) + wasm_f32x4_extract_lane(v, 1)) +
         (wasm_f32x4_extract_lane(v, 2) + wasm_f32x4_extract_lane(v, 3));
}

static inline v128_t add_product(v128_t total, v128_t a, const float *x) {
  return wasm_f32x4_add(total, wasm_f32x4_mul(a, wasm_v128_load(x)));
}

/* Four of sixteen int8 as float32; `half` and `quarter` say which. */
#define WIDE(bytes, half, quarter) \
  wasm_f32x4_convert_i32x4(wasm_i32x4_extend_##quarter##_i16x8(wasm_i16x8_extend_##half##_i8x16(bytes)))

EXPORT void linear_float32(const float *x, int count, int columns, const float *w, int rows, float *y) {
  for (int row = 0; row < rows; row++, w += columns) {
    int n = 0;
    for (; n + BLOCK <= count; n += BLOCK) {
      const float *at = x + n * columns;
      v128_t a = wasm_f32x4_splat(0), b = a, c = a, d = a;
      for (int i = 0; i < columns; i += 4) {
        v128_t weights = wasm_v128_load(w + i);
        a = add_product(a, weights, at + i);
        b = add_product(b, weights, at + columns + i);
        c = add_product(c, weights, at + 2 * columns + i);
        d = add_product(d, weights, at + 3 * columns + i);
      }
      float *to = y + n * rows + row;
      to[0] = sum(a), to[rows] = sum(b), to[2 * rows] = sum(c), to[3 * rows] = sum(d);
    }
    for (; n < count; n++) {
      v128_t a = wasm_f32x4_splat(0), b = a;
      int i = 0;
      for (; i + 8 <= columns; i += 8) {
        a = add_product(a, wasm_v128_load(w + i), x + n * columns + i);
        b = add_product(b, wasm_v128_load(w + i + 4), x + n * columns + i + 4);
      }
      if (i < columns) a = add_product(a, wasm_v128_load(w + i), x + n * columns + i);
      y[n * rows + row] = sum(wasm_f32x4_add(a, b));
    }
  }
}

EXPORT void linear_int8(const float *x, int count, int columns, const signed char *w, const float *factors, int rows,
                        float *y) {
  for (int row = 0; row < rows; row++, w += columns) {
    int n = 0;
    for (; n + BLOCK <= count; n += BLOCK) {
      const float *at = x + n * columns;
      v128_t a = wasm_f32x4_splat(0), b = a, c = a, d = a;
      for (int i = 0; i < columns; i += 16) {
        v128_t bytes = wasm_v128_load(w + i);
        v128_t weights[4] = {WIDE(bytes, low, low), WIDE(bytes, low, high), WIDE(bytes, high, low),
                             WIDE(bytes, high, high)};
        for (int part = 0; part < 4; part++) {
          const float *from = at + i + 4 * part;
          a = add_product(a, weights[part], from);
          b = add_product(b, weights[part], from + columns);
          c = add_product(c, weights[part], from + 2 * columns);
          d = add_product(d, weights[part], from + 3 * columns);
        }
      }
      float *to = y + n * rows + row;
      float factor = factors[row];
      to[0] = sum(a) * factor, to[rows] = sum(b) * factor;
      to[2 * rows] = sum(c) * factor, to[3 * rows] = sum(d) * factor;
    }
    for (; n < count; n++) {
      const float *at = x + n * columns;
      v128_t a = wasm_f32x4_splat(0), b = a, c = a, d = a;
      for (int i = 0; i < columns; i += 16) {
        v128_t bytes = wasm_v128_load(w + i);
        a = add_product(a, WIDE(bytes, low, low), at + i);
        b = add_product(b, WIDE(bytes, low, high), at + i + 4);
        c = add_product(c, WIDE(bytes, high, low), at + i + 8);
        d = add_product(d, WIDE(bytes, high, high), at + i + 12);
      }
      y[n * rows + row] = sum(wasm_f32x4_add(wasm_f32x4_add(a, b), wasm_f32x4_add(c, d))) * factors[row];
    }
  }
}
