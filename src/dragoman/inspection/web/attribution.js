// View 6, attribution: three methods that measure which source word an output word comes from, and their agreement.

const METHODS = ["attention", "erasure", "gradient"];
const chosenWord = { index: 0 };
const MAX_BARS = 32; // of more source words, those with the largest values

// The matrix (T, S) of one method. By words, contributions to log P are added; attention is a mean over queries.
function matrixOfMethod(name) {
  const { where, head } = data.attribution.attention;
  const x = name === "attention" ? headOf(array(`${where}.weights`), head) : array(`attribution.${name}`);
  return x && byWords({ ...x, labels: { position: "output", key: "source" } }, name !== "attention");
}

const known = () => METHODS.filter((name) => matrixOfMethod(name));

function attributionView() {
  const { where, head } = data.attribution.attention;
  const one = part(oneWord);
  const missing = METHODS.length > known().length ? note(t(data === recorded ? "attribution.long" : "attribution.live")) : null;
  return [
    el("p.lead", {}, t("attribution.lead")),
    missing,
    blocks(matrixOfMethod("attention")),
    one,
    el("h3", {}, t("attribution.alignment")),
    el("p", {}, t(page.words ? "attribution.alignment.words" : "attribution.alignment.text", { layer: Number(where.split(".")[1]) + 1, head: head + 1 })),
    linksPicture(),
    agreementTable(),
    el("h3", {}, t("attribution.maps")),
    el(
      "div.figures.n3",
      {},
      known().map((name) =>
        matrix(
          matrixOfMethod(name),
          {
            inputs: wordInputs(matrixOfMethod(name)),
            name: t(`attribution.${name}`),
            signed: name === "erasure",
            top: name === "attention" ? topOf(matrixOfMethod(name)) : 0,
            rowTitle: t("axis.output"),
            columnTitle: t("axis.source"),
            row: -1,
          },
        ),
      ),
    ),
  ];
}

function oneWord(one) {
  const [sources, outputs] = ["source", "output"].map(unitsOf);
  const choose = (i) => {
    chosenWord.index = outputs[i].pieces[0];
    one.redraw();
    one.querySelector("[aria-pressed=true]").focus();
  };
  const order = shownSources(chosenWord.index);
  const ways = known().map((name) => {
    const x = matrixOfMethod(name),
      values = [...rowOf(x, rowAt(x, chosenWord.index))];
    const pieces = labelsOf(x, "key");
    return el(
      "div.way",
      {},
      el("h4", {}, t(`attribution.${name}`)),
      el("p.hint", {}, t(`attribution.${name}.text`)),
      signedBars(pieces, values, name, order, x.reduced > 1 ? null : sources),
    );
  });
  return [
    el("p", {}, t("attribution.choose")),
    wordRow(t("translation"), outputs, outputs.findIndex(({ pieces }) => pieces.includes(chosenWord.index)), choose),
    el("div.ways", {}, ways),
    order.length < sources.length && !blocks(matrixOfMethod("attention"))
      ? el("p.hint", {}, t("attribution.others", { n: sources.length - order.length }))
      : null,
  ];
}

// The row of a piece: of its word, or of its block.
const rowAt = (x, piece) => (x.groups ? placeOf(x, piece) : placed(x, piece));

// The source positions whose values are largest, the same for all methods, so that their rows are comparable.
function shownSources(word) {
  const rows = known().map((name) => {
    const x = matrixOfMethod(name),
      values = rowOf(x, rowAt(x, word));
    const top = Math.max(...values.map(Math.abs), 1e-9);
    return values.map((value) => Math.abs(value) / top);
  });
  const sum = (j) => rows.reduce((total, row) => total + row[j], 0);
  const order = [...rows[0].keys()].sort((a, b) => sum(b) - sum(a));
  return order.slice(0, MAX_BARS).sort((a, b) => a - b);
}

// Bars to the right for source words that make the word likelier, to the left for those that make it less likely.
function signedBars(pieces, values, name, order, units) {
  const top = Math.max(...values.map(Math.abs), 1e-9),
    least = Math.min(0, ...values);
  const best = values.indexOf(Math.max(...values)),
    span = Math.max(...values, 0) - least || top;
  return el(
    "ol.bars.signed",
    {},
    order.map((i) => {
      const bar = el(`span.bar${values[i] < 0 ? ".less" : ""}`);
      bar.style.marginLeft = `${(100 * (Math.min(values[i], 0) - least)) / span}%`;
      bar.style.width = `${(100 * Math.abs(values[i])) / span}%`;
      return el(
        `li${i === best ? ".chosen" : ""}`,
        { "data-side": units && "source", "data-at": units && units[i].pieces.join(" ") },
        bdi(pieces[i]),
        el("span.track", {}, bar),
        el("span.value", {}, name === "attention" ? percent(values[i]) : number(values[i], 3)),
      );
    }),
  );
}

// The links of the head that aligns best, [output, source]; by words those of the merged weights without EOS.
function strongestLinks() {
  const x = matrixOfMethod("attention");
  if (!x.groups) return data.attribution.attention.links;
  const [rows, columns] = x.shape;
  return Array.from({ length: rows - 1 }, (_, i) => {
    const row = [...rowOf(x, i)].slice(0, columns - 1);
    return [i, row.indexOf(Math.max(...row))];
  });
}

// Two columns of pieces; a line joins each output piece with the source piece that the head attends to most.
function linksPicture() {
  const [source, output] = ["source", "output"].map((side) => unitsOf(side).map(({ text }) => text));
  const links = strongestLinks();
  const shownLinks = links.slice(0, 400),
    height = 22 * Math.max(source.length, output.length) + 8,
    width = 460;
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "links",
    role: "img",
    "aria-label": `${t("attribution.alignment")}: ${shownLinks.map(([i, j]) => `${isolated(output[i])} – ${isolated(source[j])}`).join("; ")}`,
  });
  for (const [i, j] of shownLinks)
    picture.append(
      svg("path", {
        d: `M160,${22 * j + 15} C210,${22 * j + 15} 250,${22 * i + 15} 300,${22 * i + 15}`,
        class: "link",
      }),
    );
  const word = (pieces, x, side) =>
    pieces.forEach((piece, i) =>
      picture.append(svg("text", { x, y: 22 * i + 20, class: `end ${side}` }, isolated(shortened(piece, 18)))),
    );
  word(source, 152, "left");
  word(output, 308, "right");
  return el(
    "figure.links",
    {},
    el("figcaption", {}, `${data.languages.source} → ${data.languages.target}`),
    el("div.scroll", { tabindex: 0, role: "region", "aria-label": t("attribution.alignment") }, picture),
  );
}

function agreementTable() {
  const rows = Object.entries(data.attribution.agreement).map(([pair, found]) => {
    const [a, b] = pair.split("-");
    return [
      `${t(`attribution.${a}`)} – ${t(`attribution.${b}`)}`,
      percent(found.top),
      found.spearman === null ? "–" : number(found.spearman, 3),
    ];
  });
  return rows.length
    ? el(
        "section",
        {},
        el("h3", {}, t("attribution.agreement")),
        table([t("attribution.pair"), t("attribution.top"), t("attribution.spearman")], rows, "", t("attribution.agreement")),
        byPieces(),
        el("p.hint", {}, t("attribution.agreement.text")),
      )
    : null;
}
