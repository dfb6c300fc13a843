"""What the service keeps on disk: a private folder and its database. Without one given, a temporary folder."""

import tempfile
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.installed import models_folder
from dragoman.serve.store.database import Database
from dragoman.system.files import storage_error


def state_folder() -> Path:
    """Where `dragoman serve` and `dragoman keys` keep their state unless --state is given: next to the models."""
    return models_folder().parent / "serve"


class ServiceState:
    """A folder that only this user can read, and a database, by default a file in it."""

    def __init__(self, folder: Path | None = None, database: str | None = None) -> None:
        """Make the folder if it does not exist. Raises ConfigError if that fails, or the database cannot be reached."""
        self._temporary = tempfile.TemporaryDirectory(prefix="dragoman-") if folder is None else None
        self.folder = Path(self._temporary.name) if self._temporary else Path(folder or "").absolute()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            raise ConfigError(f"--state {self.folder}: is a file; give a folder") from None
        except OSError as error:
            raise storage_error(self.folder, error) from None
        self.database = Database.of(self.folder, database)

    def close(self) -> None:
        """Close the database; remove a temporary folder."""
        self.database.close()
        if self._temporary:
            self._temporary.cleanup()
