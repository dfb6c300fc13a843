"""Whole tasks, composed from the packages below: train, evaluate, export, distil, learn a shortlist, inspect.

Input: a configuration, models and text. Output: files and result values. Nothing here prints or reads the command
line; progress goes to listeners (`dragoman.workflows.listener`).
"""
