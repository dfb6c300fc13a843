"""The translator in one HTML file of served models, as `dragoman export --to html` writes it.

A file is written when it is first asked for and stays on the disk, as long as its models do not change, so that
megabytes are not in memory. One is written at a time.
"""

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.serve.models.models import ServedModel
from dragoman.serve.requests.ticket import QueueFull

# Files on the disk; requests that may wait for one, and for how many seconds.
MOST, WAITING, SECONDS = 8, 4, 60.0


class CannotPack(DragomanError):
    """A model that no page can run; the message says why."""


class HtmlFiles:
    """The files that were written, in a temporary folder. Threads may share it."""

    def __init__(self) -> None:
        self._turn, self._places = threading.Lock(), threading.Semaphore(WAITING)
        self._folder: TemporaryDirectory[str] | None = None
        self._written = dict[tuple[str, ...], Path]()
        self._refused = dict[tuple[str, ...], str]()
        self._evicted: Path | None = None

    def file(self, models: Sequence[ServedModel]) -> Path:
        """One file with these models, to be downloaded; blocks. Raises CannotPack, QueueFull."""
        return self._path(models, "file")

    def site(self, models: Sequence[ServedModel]) -> Path:
        """The page with these models that a browser may install, with its `worker.js`. Raises CannotPack, QueueFull."""
        return self._path(models, "site")

    def close(self) -> None:
        """Remove the files."""
        if self._folder:
            self._folder.cleanup()

    def _path(self, models: Sequence[ServedModel], kind: str) -> Path:
        key = (kind, *(f"{model.name} {model.digest}" for model in models))
        if path := self._written.get(key):
            return path
        if reason := self._refused.get(key):
            raise CannotPack(reason)
        if not self._places.acquire(blocking=False):
            raise _busy()
        try:
            if not self._turn.acquire(timeout=SECONDS):
                raise _busy()
            try:
                if path := self._written.pop(key, None):
                    self._written[key] = path  # the latest used are at the end
                    return path
                return self._write(key, models)
            finally:
                self._turn.release()
        finally:
            self._places.release()

    def _write(self, key: tuple[str, ...], models: Sequence[ServedModel]) -> Path:
        from dragoman.workflows.models.html import export_page, write_site

        self._folder = self._folder or TemporaryDirectory(prefix="dragoman-html-")
        folder = mkdtemp(dir=self._folder.name)
        folders = [model.folder for model in models]
        try:
            if key[0] == "site":
                path = write_site(folders, folder)
            else:
                path = export_page(folders, Path(folder) / "translator.html").path
        except (ConfigError, ModelError) as error:
            text = str(error)
            for model in models:
                text = text.replace(str(model.folder), model.name)
            shutil.rmtree(folder, ignore_errors=True)
            if len(self._refused) >= MOST:
                self._refused.clear()
            self._refused[key] = text
            raise CannotPack(text) from None
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        if len(self._written) >= MOST:
            if self._evicted:  # one that is evicted may just be sent: it goes with the next
                shutil.rmtree(self._evicted, ignore_errors=True)
            self._evicted = self._written.pop(next(iter(self._written))).parent
        self._written[key] = path
        return path


def _busy() -> QueueFull:
    return QueueFull("others wait for a file of a model now; try again later", 5)
