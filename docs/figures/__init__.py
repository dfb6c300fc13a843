"""The figures of the course as SVG, each in English and Korean, from one function and one table of labels.

`python -m figures` in docs/ writes them to images/learn; a test compares the files with what this draws. Numbers in a
figure are computed by the functions of the package.
"""
