"""What can be asked of any engine, without torch: terms, constraints, minimum Bayes risk, detection of faults."""
