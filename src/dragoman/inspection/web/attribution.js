// View 6, why this word: three ways to ask which source word a word came from, and how far they agree.

const WAYS = ["attention", "erasure", "gradient"];
const asked = { word: 0 };
const MOST = 32; // bars: of more source words, those that count most

// What a way says, as a matrix (T, S).
function wayOf(name) {
  if (name === "attention") return headOf(array(`${data.attribution.attention.where}.weights`), data.attribution.attention.head);
  return array(`attribution.${name}`);
}

const known = () => WAYS.filter((name) => wayOf(name));

function attributionView() {
  const { where, head } = data.attribution.attention;
  const one = part(oneWord);
  const missing = WAYS.length > known().length ? note(t("attribution.long")) : null;
  return [
    el("p.lead", {}, t("attribution.lead")),
    missing,
    blocks(wayOf("attention")),
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
          { ...wayOf(name), labels: { position: "output", seen: "source" } },
          {
            name: t(`attribution.${name}`),
            signed: name === "erasure",
            top: name === "attention" ? topOf(wayOf(name)) : 0,
            rowTitle: t("axis.said"),
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
    asked.word = i;
    one.redraw();
    one.querySelector("[aria-pressed=true]").focus();
  };
  const ways = known().map((name) => {
    const x = wayOf(name),
      values = [...rowOf(x, placed(x, asked.word))];
    const pieces = labelsOf({ ...x, labels: { seen: "source" } }, "seen");
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
    wordRow(t("translation"), data.pieces.output, asked.word, choose),
    el("div.ways", {}, ways),
  ];
}

// Bars to the right for what made the word likelier, to the left for what made it less so.
function signedBars(pieces, values, name) {
  const top = Math.max(...values.map(Math.abs), 1e-9),
    least = Math.min(0, ...values);
  const best = values.indexOf(Math.max(...values)),
    span = Math.max(...values, 0) - least || top;
  const order = [...values.keys()]
    .sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]))
    .slice(0, MOST)
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

// The two texts face each other; a line joins each word with the source word its head looks at most.
function linksPicture() {
  const source = data.pieces.source,
    said = data.pieces.output,
    links = data.attribution.attention.links;
  const shownLinks = links.slice(0, 400),
    height = 22 * Math.max(source.length, said.length) + 8,
    width = 460;
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "links",
    role: "img",
    "aria-label": `${t("attribution.alignment")}: ${shownLinks.map(([i, j]) => `${isolated(said[i])} – ${isolated(source[j])}`).join("; ")}`,
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
  word(said, 308, "right");
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
