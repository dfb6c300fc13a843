"""Messages: work continues where nobody reads them any more."""

import errno
import io

import pytest

from dragoman.cli.shared.console import Messages


class Gone(io.StringIO):
    """A stream whose reader is gone."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EIO, "Input/output error"), BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError(errno.ENOSPC, "")],
    ids=["a closed terminal", "a pipe that ended", "a full disk"],
)
def test_a_message_that_cannot_be_written_ends_no_work(error: OSError) -> None:
    messages = Messages(file=Gone(error))
    messages.print("step 1")
    messages.print("step 2")
    assert messages.quiet
