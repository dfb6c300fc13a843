"""The engine of a page, run by Node or, where there is none, by a headless Chromium without a page."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from dragoman.web import engine_script
from headless import chromium

# What tests ask of an engine that has one model in the variables `facts` and `base64`.
DRIVER = """
async function answer({ facts, base64, plain, pieces, decoded, sentences, queries, divided, beam, searches }) {
  const bytes = bytesOf(base64, facts.bytes, facts.checksum);
  const kernels = plain ? new PlainKernels() : await fastest(facts.bytes);
  const [direction] = directionsOf(facts, bytes, kernels);
  const search = (ids) => exhaust(direction.search(ids, { ...direction.facts.decode, beam }, []));
  const answers = [];
  for (const other of searches ?? []) answers.push(await answer({ facts, base64, queries, ...other }));
  return {
    searches: answers,
    kernels: kernels.name,
    pieces: (pieces ?? []).map((text) => direction.source.encode(text)),
    decoded: (decoded ?? []).map((ids) => direction.target.decode(ids)),
    sentences: (sentences ?? []).map((text) => direction.sentences(text).flat().map((part) => part.text)),
    divided: (divided ?? []).map((text) => sentencesOf(normalise(text))),
    hypotheses: searches ? [] : (queries ?? []).map((ids) => search(ids)),
  };
}
"""


def ask(folder: Path, question: dict[str, Any], driver: str = DRIVER, *, watched: bool = False) -> dict[str, Any]:
    """The answer of a driver; files are written into `folder`. `watched`: with what the page of `look` adds."""
    return dict(evaluate(folder, f"{engine_script(watched=watched)}\n{driver}", question))


def evaluate(folder: Path, code: str, question: Any) -> Any:
    """What the function `answer` of a script returns for a question; files are written into `folder`."""
    if node := shutil.which("node"):
        script, given = folder / "engine.js", folder / "question.json"
        given.write_text(json.dumps(question), encoding="utf-8")
        read = f'const question = JSON.parse(require("fs").readFileSync({json.dumps(str(given))}, "utf-8"));'
        write = "Promise.resolve(answer(question)).then((value) => process.stdout.write(JSON.stringify(value)));"
        script.write_text(f"{code}\n{read}\n{write}\n", encoding="utf-8")
        done = subprocess.run([node, str(script)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout)
    with chromium() as browser:
        page = browser.new_page()
        page.add_script_tag(content=f"{code}\nwindow.answer = answer;")
        return page.evaluate("(question) => window.answer(question)", question)
