"""`benchmarks/control/kept.py` under the name by which it is called: what is kept, flagged, or wrong in silence."""

import runpy
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("control") / "kept.py"), run_name="__main__")
