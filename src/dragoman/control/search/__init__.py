"""Lines → sentences → candidates: splitting, search, retries, choice among samples, alternatives."""
