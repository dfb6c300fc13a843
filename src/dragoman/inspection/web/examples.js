// The example of most introductions: "The animal didn't cross the street because it was too tired", and "… too wide". What
// the heads of this model do with "it" is measured, not claimed.

const EXAMPLES = ["tired", "wide"].map((word) => `The animal didn't cross the street because it was too ${word}.`);
// What a reader takes "it" for, by the last word.
const MEANT = { tired: "animal", wide: "street" };
// By which words a translation says so of the animal, or of the street; by the target language.
const SUBJECTS = { ko: { animal: /동물[은이]\s+(너무|매우)/, street: /(길|거리|도로)[이가은는]\s+(너무|매우)/ } };
const CLEAR = 0.3; // a weight below it is not called a connection

// The words of the source by their lower-case letters: the indices of their pieces, without punctuation.
function sourceWords() {
  const isSpelled = (i) => !isPunctuation(data.pieces.source[i]);
  return new Map(wordsOf("source").map(({ pieces, text }) => [text.toLowerCase().replace(/[^\p{L}']/gu, ""), pieces.filter(isSpelled)]));
}

// The head of the encoder that sends one word to another most: the sum over keys, the mean over queries.
function strongestBetween(queries, keys) {
  let best = { weight: 0, layer: 0, head: 0 };
  for (let layer = 0; layer < model.encoder_layers; layer++) {
    const { shape, values, reduced } = array(`encoder.${layer}.self_attention.weights`);
    const [heads, rows, columns] = shape;
    if (reduced > 1) return null;
    for (let head = 0; head < heads; head++) {
      let sum = 0;
      for (const i of queries) for (const j of keys) sum += values[(head * rows + i) * columns + j];
      if (sum / queries.length > best.weight) best = { weight: sum / queries.length, layer, head };
    }
  }
  return best;
}

// Under the sentence, where it is one of the example: to which words the heads send "it".
function foundLine() {
  const line = document.getElementById("found");
  const words = sourceWords();
  const last = Object.keys(MEANT).find((word) => words.has(word));
  if (!["it", "animal", "street"].every((word) => words.has(word)) || !last) return line.replaceChildren();
  const found = Object.fromEntries(["animal", "street", last].map((word) => [word, strongestBetween(words.get("it"), words.get(word))]));
  if (Object.values(found).includes(null)) return line.replaceChildren();
  const links = Object.entries(found).map(([word, { weight, layer, head }]) =>
    el(
      "a",
      { href: address(page.lang, "heads", page.theme, sentence, `encoder.${layer + 1}.self_attention.${head + 1}`) },
      el("i", {}, "it"),
      " → ",
      el("i", {}, word),
      ` ${number(weight, 2)} (${layer + 1}.${head + 1})`,
    ),
  );
  const meant = MEANT[last];
  const other = meant === "animal" ? "street" : "animal";
  const [weight, rest] = [found[meant].weight, found[other].weight];
  const verdict = Math.max(weight, rest) < CLEAR ? "none" : weight > rest ? "right" : "wrong";
  const claims = [t(`found.${verdict}`, { meant, other })];
  const subjects = SUBJECTS[data.languages.target.split("-")[0]] ?? {};
  const subject = Object.keys(subjects).find((word) => subjects[word].test(data.translation));
  if (subject) claims.push(t(subject === meant ? "found.says.right" : "found.says.wrong", { subject, last }));
  line.replaceChildren(t("found"), " ", ...links.flatMap((link, i) => (i ? [" · ", link] : [link])), ". ", claims.join(" "));
}

// Examples of other source languages.
const OTHERS = { ko: ["나는 학생입니다.", "그 동물은 너무 피곤해서 길을 건너지 않았다."] };

// Buttons that type sentences; null for a model of another source language.
function exampleButtons(type) {
  const [language] = recorded.languages.source.split("-");
  const texts = language === "en" ? EXAMPLES : OTHERS[language];
  if (!texts) return null;
  const name = (text) => (language === "en" ? `… ${text.split(" ").slice(-2).join(" ")}` : text);
  const buttons = texts.map((text) => el("button", { type: "button", lang: language, onclick: () => type(text) }, name(text)));
  return el("p.examples", {}, t(language === "en" ? "examples" : "examples.others"), ...buttons.flatMap((button) => [" ", button]));
}
