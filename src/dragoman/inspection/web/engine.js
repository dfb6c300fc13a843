// What the engine of this page knows of the model, and the engine, where the page has them.

let parsedFacts = null;
// What the engine knows of the model; null on a page of recorded values.
function modelFacts() {
  parsedFacts ??= JSON.parse(document.getElementById("model")?.textContent ?? "null");
  return parsedFacts;
}
// Milliseconds; a pass that is recorded takes seconds in which a worker does not listen.
const SILENCE = 8000;

// The engine once it was started, as in `web/client.js`.
let engine = null;

// Start it and load the model; the answer is the name of its arithmetic. Fails for weights that were cut.
function startEngine() {
  const base64 = document.getElementById("weights")?.textContent ?? "";
  engine = new Client(() => ({ facts: modelFacts(), base64 }), SILENCE);
  return engine.load(0);
}
