"""Is model B better than model A? `python compare_two_models.py MODEL_A MODEL_B SOURCE REFERENCE`.

Both models translate the test set; two paired tests tell whether the difference of their scores could be chance.
"""

import sys

import dragoman

model_a, model_b, source, reference = sys.argv[1:5]
result = dragoman.evaluate(model_a, source, reference, compare=[model_b])
assert result.comparison
for name, scores in result.comparison.systems.items():
    for score in scores:
        line = f"{name}  {score.name} {score.value:.2f} ± {score.half_width:.2f}"
        if score.p_bootstrap is not None and score.p_randomisation is not None:
            line += f"  p = {score.p_bootstrap:.4f} (bootstrap), {score.p_randomisation:.4f} (randomisation)"
        print(line)
