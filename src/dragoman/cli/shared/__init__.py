"""What the verbs share: arguments, the console, progress and reports."""
