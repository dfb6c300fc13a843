"""Models → one HTML file that translates offline: weights of any bundle in the arithmetic of a page, and the page."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, cast, get_args

from dragoman.bundle import WEIGHTS, Bundle
from dragoman.bundled import HOME
from dragoman.errors import ConfigError, ModelError, checked_path
from dragoman.exporting.packing import Numbers, Tensor, rounded
from dragoman.exporting.page import PageModel, refuse_too_large, render, service_worker
from dragoman.importing.opennmt.arrays import arrays_of, positions_of
from dragoman.importing.opennmt.ctranslate2 import model_shape
from dragoman.importing.opennmt.folder import ENDED, read_ct2_folder
from dragoman.importing.opennmt.folder import WEIGHTS as CT2_WEIGHTS
from dragoman.installed.opening import open_models
from dragoman.system.files import refuse_unwritable_file, write_text_atomically
from dragoman.workflows.listener import Listener, Listeners

# A model of up to this many weights is stored in float16, which changes nothing that it says; a larger one in int8.
SMALL = 4_000_000
# Above this size the page may be too large for a phone.
MUCH = 64_000_000
NOTICE = "NOTICE.md"
# What hubs read at the beginning of a card.
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n\s*", re.DOTALL)
# Added to the variance in norms, against division by zero; as `dragoman.model.parts.norm`, which needs torch.
EPSILON = {"layer": 1e-5, "rms": 1e-6}


@dataclass(frozen=True)
class PageResult:
    """A page that was written."""

    path: Path
    bytes: int
    pairs: tuple[str, ...]
    """The directions in which it translates, such as "en-ko"."""


def export_page(
    models: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    numbers: str | None = None,
    force: bool = False,
    base: str | PathLike[str] | None = None,
    listeners: Iterable[Listener] = (),
) -> PageResult:
    """Write `output`, an HTML file that translates in every direction of `models`, without a network.

    The weights are stored in `numbers`: float16 for a small model and int8 for others, unless given; a model that is
    only an export for CTranslate2 keeps its own int8. An existing file is replaced only with `force`. Raises
    ConfigError for an output that exists or weights too large for a page, ModelError for a model that no page can run.
    """
    path = checked_path("output", output)
    if numbers is not None and numbers not in get_args(Numbers):
        raise ConfigError(f"quantization {numbers}: a page has int8 or float16")
    if path.is_dir():
        raise ConfigError(f"{path}: is a folder; name a file, such as translator.html")
    if path.exists() and not force:
        raise ConfigError(f"{path}: already exists; --force replaces it, --output goes elsewhere")
    refuse_unwritable_file(path)
    listener = Listeners(listeners)
    bundles = open_models(models, base)
    page = _page(bundles, cast("Numbers | None", numbers), listener, served=False)
    size = len(page.encode())
    if size > MUCH:
        listener.on_warning(f"{path}: {size / 1e6:,.0f} MB; it may be too large for a phone")
    write_text_atomically(path, page)
    pairs = tuple(pair.name for bundle in bundles for pair in bundle.config.project.all_pairs)
    return PageResult(path, size, pairs)


def write_site(models: Sequence[str | PathLike[str]], folder: str | PathLike[str]) -> Path:
    """Write the page of `models` as `index.html` into a folder that a server offers, with `worker.js` next to it.

    A browser stores it and can install it as an app. Returns the page. Raises as `export_page` does.
    """
    page = _page(open_models(models), None, Listeners(()), served=True)
    path = Path(folder) / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomically(path, page)
    write_text_atomically(path.parent / "worker.js", service_worker(page))  # the page is there before it
    return path


def _page(bundles: Sequence[Bundle], numbers: Numbers | None, listener: Listeners, *, served: bool) -> str:
    _refuse_twice(bundles)
    pages = []
    for bundle in bundles:
        listener.notice(f"packing {bundle.config.project.name}")
        pages.append(page_model(bundle, numbers))
        if not bundle.has_weights and not read_ct2_folder(bundle.exports[-1]).config["add_source_eos"]:
            listener.on_warning(f"{bundle.folder}: {ENDED}: the page may translate worse than `dragoman translate`")
    return render(pages, served=served)


def page_model(bundle: Bundle, numbers: Numbers | None = None, largest: int | None = None) -> PageModel:
    """A bundle as a page has it. Raises ModelError if its network is not one that a page can run.

    Raises ConfigError, before anything is loaded, if its weights have more than `largest` bytes in any numbers.
    """
    refuse_too_large(bundle.config.project.name, _least_size(bundle), largest)
    # Where there is no PyTorch, the export has the model too.
    has_torch = find_spec("torch") is not None
    read = _of_weights if bundle.has_weights and (has_torch or not bundle.exports) else _of_export
    tensors, shape = read(bundle, numbers)
    # Next to bundled models is a notice of whose text they learned from.
    notices = [HOME / NOTICE] if bundle.folder.parent == HOME else []
    texts = [path for path in (bundle.folder / "README.md", *notices) if path.is_file()]
    card = "\n".join(FRONT_MATTER.sub("", path.read_text(encoding="utf-8")) for path in texts)
    return PageModel(bundle.config.project.name, bundle.config, bundle.tokenizer, tensors, shape, card)


def _least_size(bundle: Bundle) -> int:
    """The bytes that its weights have at least in a page: a float32 may become an int8, and an int8 stays."""
    whole = bundle.base or bundle
    if whole.weights_sha256:
        return (whole.folder / WEIGHTS).stat().st_size // 4
    sizes = ((folder / CT2_WEIGHTS).stat().st_size // (1 + 3 * ("int8" not in folder.name)) for folder in whole.exports)
    return 3 * min(sizes, default=0) // 4


def _refuse_twice(bundles: Sequence[Bundle]) -> None:
    names = [pair.name for bundle in bundles for pair in bundle.config.project.all_pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{twice}: two of the models translate in this direction; leave one out")


def _of_weights(bundle: Bundle, numbers: Numbers | None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a model that PyTorch opens, rounded."""
    config = bundle.config.model
    if config.architecture != "transformer":
        raise ModelError(f'{bundle.folder}: a page runs Transformers, and this model is of "{config.architecture}"')
    network = cast("Any", bundle.load_model())
    parameters = {id(tensor): name for name, tensor in network.named_parameters()}
    chosen = numbers or ("float16" if network.parameter_count <= SMALL else "int8")
    read: dict[str, Tensor] = {
        name: rounded(tensor.detach().float().cpu().numpy().copy(), chosen)
        for name, tensor in network.named_parameters()
    }
    tied = {
        "source_embedding.weight": network.source_embedding.weight,
        "target_embedding.weight": network.target_embedding.weight,
        "projection": network.projection,
    }
    tensors = read | {name: read[parameters[id(tensor)]] for name, tensor in tied.items()}
    return tensors, _shape(config.model_dump())


def _of_export(bundle: Bundle, numbers: Numbers | None) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of the most precise export of a model that CTranslate2 alone runs; int8 as it is stored."""
    folder = read_ct2_folder(bundle.exports[-1])
    keys, is_ours = model_shape(folder)
    if not is_ours:
        raise ModelError(f"{bundle.folder}: an architecture that the engine of a page has no options for")
    if folder.model.number("encoder/layer_0/self_attention/rotary_dim", 0):
        raise ModelError(f"{bundle.folder}: its heads are rotated in part, which a page cannot do; give its weights")
    chosen: Numbers = numbers or "int8"
    read: dict[int, Tensor] = {}
    tensors: dict[str, Tensor] = {}
    for name, (values, factors) in arrays_of(folder).items():
        if id(values) not in read:
            read[id(values)] = rounded(values, chosen) if factors is None else Tensor(values, factors)
        tensors[name] = read[id(values)]
    epsilon = folder.config.get("layer_norm_epsilon")
    shape = keys | {"position_base": 10000.0, "first_position": 0} | positions_of(folder, keys)
    return tensors, _shape(shape) | ({"epsilon": epsilon} if isinstance(epsilon, float) else {})


def _shape(keys: dict[str, Any]) -> dict[str, Any]:
    return {"position_halves": False} | keys | {"epsilon": EPSILON[keys["norm"]]}
