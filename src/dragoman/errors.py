"""One family of exceptions: what a user can meet, each with its exit code.

    DragomanError             1   something failed: disk full, a folder that cannot be written
    ├── ConfigError           2   a key, a flag or a value in the configuration
    │   └── ResumeError       2   the run on disk was made with another configuration or other data
    ├── DataError             3   a line, a file or a corpus
    ├── ModelError            4   a model bundle that is missing, altered or of another format
    ├── ResourceError         5   out of memory, or a device that is not there
    ├── QualityError          6   an export that does not translate as its model does
    ├── DistributedError      1   another process of the run was lost, or cannot be reached
    ├── DivergenceError       1   the loss is no longer a number
    └── Interrupted         130   stopped by a signal, after saving

A message says where, what, and what to do next, in one line. An `assert` is for our own bugs.
"""


class DragomanError(Exception):
    """Base of everything a user can cause or mend."""

    exit_code = 1


class ConfigError(DragomanError):
    """The configuration names an unknown key or an impossible value."""

    exit_code = 2


class ResumeError(ConfigError):
    """The run cannot be continued exactly, and this says why."""


class DataError(DragomanError):
    """A corpus cannot be read or does not line up; the message names file and line."""

    exit_code = 3


class ModelError(DragomanError):
    """A model bundle is missing, damaged, altered or of a format this version does not know."""

    exit_code = 4


class ResourceError(DragomanError):
    """Memory or device: the work does not fit or the device is not there."""

    exit_code = 5


class QualityError(DragomanError):
    """A quality gate: what was made is worse than allowed, and was not kept."""

    exit_code = 6


class DistributedError(DragomanError):
    """A process of the run was lost or cannot be reached; the last checkpoint is kept."""


class DivergenceError(DragomanError):
    """Training met a loss or gradient that is not finite; the last checkpoint is kept."""


class Interrupted(DragomanError):
    """A signal stopped the work after what was done had been saved."""

    exit_code = 130
