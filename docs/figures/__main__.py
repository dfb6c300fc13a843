"""Write every figure in both languages."""

from figures import growth
from figures.all import FOLDER, drawings

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, drawing in drawings().items():
        (FOLDER / name).write_text(drawing, encoding="utf-8")
    growth.FILE.write_text(growth.growth().svg(growth.TITLE), encoding="utf-8")
