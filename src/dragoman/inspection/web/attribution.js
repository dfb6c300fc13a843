// View 6, attribution: three methods that measure which source word an output word comes from, and their agreement.

const METHODS = ["attention", "erasure", "gradient"];
const chosenWord = { index: 0 };
const MAX_BARS = 32; // of more source words, those with the largest values

// The matrix (T, S) of one method.
function matrixOfMethod(name) {
  if (name === "attention") return headOf(array(`${data.attribution.attention.where}.weights`), data.attribution.attention.head);
  return array(`attribution.${name}`);
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
    el("p", {}, t("attribution.alignment.text", { layer: Number(where.split(".")[1]) + 1, head: head + 1 })),
    linksPicture(),
    agreement(),
    el("h3", {}, t("attribution.maps")),
    el(
      "div.figures.n3",
      {},
      known().map((name) =>
        matrix(
          { ...matrixOfMethod(name), labels: { position: "output", key: "source" } },
          {
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
  const choose = (i) => {
    chosenWord.index = i;
    one.redraw();
    one.querySelector("[aria-pressed=true]").focus();
  };
  const ways = known().map((name) => {
    const x = matrixOfMethod(name),
      values = [...rowOf(x, placed(x, chosenWord.index))];
    const pieces = labelsOf({ ...x, labels: { key: "source" } }, "key");
    return el(
      "div.way",
      {},
      el("h4", {}, t(`attribution.${name}`)),
      el("p.hint", {}, t(`attribution.${name}.text`)),
      signedBars(pieces, values, name),
    );
  });
  return [
    el("p", {}, t("attribution.choose")),
    wordRow(t("translation"), data.pieces.output, chosenWord.index, choose),
    el("div.ways", {}, ways),
  ];
}

// Bars to the right for source words that make the word likelier, to the left for those that make it less likely.
function signedBars(pieces, values, name) {
  const top = Math.max(...values.map(Math.abs), 1e-9),
    least = Math.min(0, ...values);
  const best = values.indexOf(Math.max(...values)),
    span = Math.max(...values, 0) - least || top;
  const order = [...values.keys()]
    .sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]))
    .slice(0, MAX_BARS)
    .sort((a, b) => a - b);
  return el(
    "ol.bars.signed",
    {},
    order.map((i) => {
      const bar = el(`span.bar${values[i] < 0 ? ".less" : ""}`);
      bar.style.marginLeft = `${(100 * (Math.min(values[i], 0) - least)) / span}%`;
      bar.style.width = `${(100 * Math.abs(values[i])) / span}%`;
      return el(
        `li${i === best ? ".chosen" : ""}`,
        {},
        bdi(pieces[i]),
        el("span.track", {}, bar),
        el("span.value", {}, name === "attention" ? percent(values[i]) : number(values[i], 3)),
      );
    }),
  );
}

// Two columns of pieces; a line joins each output piece with the source piece that the head attends to most.
function linksPicture() {
  const source = data.pieces.source,
    output = data.pieces.output,
    links = data.attribution.attention.links;
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
      picture.append(svg("text", { x, y: 22 * i + 20, class: `end ${side}` }, isolated(cut(piece, 18)))),
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

function agreement() {
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
        table([t("attribution.pair"), t("attribution.top"), t("attribution.spearman")], rows, t("attribution.agreement")),
        el("p.hint", {}, t("attribution.agreement.text")),
      )
    : null;
}
