// The position of a token: sinusoids of section 3.5, learned vectors, or the rotation of queries and keys.
"use strict";

class Positions {
  constructor(shape, tensors, kernels) {
    Object.assign(this, { shape, tensors, kernels });
    this.vectors = new Map();
    this.rotations = new Map();
  }

  // What is added to the embedding of a token at `place`.
  vector(place, side) {
    const { d_model, positions, position_base, first_position, position_halves } = this.shape;
    if (positions === "learned") return this._learned(place, side);
    let vector = this.vectors.get(place);
    if (!vector) {
      this.vectors.set(place, (vector = new Float32Array(d_model)));
      for (let i = 0; i < d_model; i++) {
        const angle = (first_position + place) / position_base ** ((i - (i % 2)) / d_model);
        // Marian's order has all sines before all cosines.
        const at = position_halves ? (i % 2 ? d_model / 2 : 0) + Math.floor(i / 2) : i;
        vector[at] = i % 2 ? Math.cos(angle) : Math.sin(angle);
      }
    }
    return vector;
  }

  // Row (E) of table 3; positions after the last share its vector.
  _learned(place, side) {
    const table = this.tensors[`${side}_embedding.positions`];
    const vector = new Float32Array(this.shape.d_model);
    this.kernels.copyRow(table, Math.min(place, table.rows - 1), 1, vector, 0);
    return vector;
  }

  // Rotary positions (Su et al. 2021): the pair (x_i, x_{i + d_k/2}) of each head is turned, in place.
  rotate(x, places) {
    const { heads, d_k, positions } = this.shape;
    if (positions !== "rotary") return x;
    const half = d_k / 2;
    places.forEach((place, row) => {
      const [cosines, sines] = this._rotation(place);
      for (let head = 0; head < heads; head++) {
        const at = (row * heads + head) * d_k;
        for (let i = 0; i < half; i++) {
          const a = x[at + i];
          const b = x[at + half + i];
          x[at + i] = a * cosines[i] - b * sines[i];
          x[at + half + i] = b * cosines[i] + a * sines[i];
        }
      }
    });
    return x;
  }

  _rotation(place) {
    if (!this.rotations.has(place)) {
      const angles = Array.from({ length: this.shape.d_k / 2 }, (_, i) => place * 10000 ** ((-2 * i) / this.shape.d_k));
      this.rotations.set(place, [Float32Array.from(angles, Math.cos), Float32Array.from(angles, Math.sin)]);
    }
    return this.rotations.get(place);
  }
}
