/* Matrix products y = W x for a page, compiled to WebAssembly SIMD by `make kernels`.

   Vectors x of `columns` float32 lie side by side, `count` of them; W has `rows` rows, of float32 or of int8 with a
   factor for each row. Sums are of float32 in four lanes; with int8, of whole numbers, for which x is rounded to 16
   bits. Four vectors share what is read of a row. */

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

/* A vector in 16 bits: round(x / factor) with the factor that makes its largest value `most`, which is returned. */
static float round_vector(const float *x, int columns, float most, short *rounded) {
  v128_t top = wasm_f32x4_splat(0);
  for (int i = 0; i < columns; i += 4) top = wasm_f32x4_max(top, wasm_f32x4_abs(wasm_v128_load(x + i)));
  float a = wasm_f32x4_extract_lane(top, 0), b = wasm_f32x4_extract_lane(top, 1);
  float c = wasm_f32x4_extract_lane(top, 2), d = wasm_f32x4_extract_lane(top, 3);
  a = a > b ? a : b, c = c > d ? c : d, a = a > c ? a : c;
  v128_t scale = wasm_f32x4_splat(a > 0 ? most / a : 0);
  for (int i = 0; i < columns; i += 8) {
    v128_t low = wasm_f32x4_nearest(wasm_f32x4_mul(wasm_v128_load(x + i), scale));
    v128_t high = wasm_f32x4_nearest(wasm_f32x4_mul(wasm_v128_load(x + i + 4), scale));
    low = wasm_i32x4_trunc_sat_f32x4(low), high = wasm_i32x4_trunc_sat_f32x4(high);
    wasm_v128_store(rounded + i, wasm_i16x8_narrow_i32x4(low, high));
  }
  return a / most;
}

static inline v128_t add_dot(v128_t total, v128_t low, v128_t high, const short *x) {
  total = wasm_i32x4_add(total, wasm_i32x4_dot_i16x8(low, wasm_v128_load(x)));
  return wasm_i32x4_add(total, wasm_i32x4_dot_i16x8(high, wasm_v128_load(x + 8)));
}

static inline float whole_sum(v128_t v) {
  return (float)(wasm_i32x4_extract_lane(v, 0) + wasm_i32x4_extract_lane(v, 1) + wasm_i32x4_extract_lane(v, 2) +
                 wasm_i32x4_extract_lane(v, 3));
}

/* `scratch` holds count · columns int16 and then `count` float32. Sums of whole numbers are exact: a lane adds
   columns / 4 products of at most 127 · most, and all four together stay below 2^31. */
EXPORT void linear_int8(const float *x, int count, int columns, const signed char *w, const float *factors, int rows,
                        float *y, short *scratch) {
  float most = 16.0e6f / columns;
  most = most < 32767 ? most : 32767;
  float *scales = (float *)(scratch + count * columns);
  for (int n = 0; n < count; n++) {
    scales[n] = round_vector(x + n * columns, columns, most, scratch + n * columns);
  }
  for (int row = 0; row < rows; row++, w += columns) {
    float factor = factors[row];
    int n = 0;
    for (; n + BLOCK <= count; n += BLOCK) {
      const short *at = scratch + n * columns;
      v128_t a = wasm_i32x4_splat(0), b = a, c = a, d = a;
      for (int i = 0; i < columns; i += 16, at += 16) {
        v128_t bytes = wasm_v128_load(w + i);
        v128_t low = wasm_i16x8_extend_low_i8x16(bytes), high = wasm_i16x8_extend_high_i8x16(bytes);
        a = add_dot(a, low, high, at);
        b = add_dot(b, low, high, at + columns);
        c = add_dot(c, low, high, at + 2 * columns);
        d = add_dot(d, low, high, at + 3 * columns);
      }
      float *to = y + n * rows + row;
      to[0] = whole_sum(a) * (factor * scales[n]), to[rows] = whole_sum(b) * (factor * scales[n + 1]);
      to[2 * rows] = whole_sum(c) * (factor * scales[n + 2]), to[3 * rows] = whole_sum(d) * (factor * scales[n + 3]);
    }
    for (; n < count; n++) {
      const short *at = scratch + n * columns;
      v128_t a = wasm_i32x4_splat(0), b = a;
      int i = 0;
      for (; i + 32 <= columns; i += 32) {
        v128_t first = wasm_v128_load(w + i), second = wasm_v128_load(w + i + 16);
        a = add_dot(a, wasm_i16x8_extend_low_i8x16(first), wasm_i16x8_extend_high_i8x16(first), at + i);
        b = add_dot(b, wasm_i16x8_extend_low_i8x16(second), wasm_i16x8_extend_high_i8x16(second), at + i + 16);
      }
      if (i < columns) {
        v128_t first = wasm_v128_load(w + i);
        a = add_dot(a, wasm_i16x8_extend_low_i8x16(first), wasm_i16x8_extend_high_i8x16(first), at + i);
      }
      y[n * rows + row] = whole_sum(wasm_i32x4_add(a, b)) * (factor * scales[n]);
    }
  }
}
