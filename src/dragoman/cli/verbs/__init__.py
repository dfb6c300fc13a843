"""The verbs, one module each: arguments and help, the call of a workflow, and what is printed."""
