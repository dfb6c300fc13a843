"""Importing: the model of another toolkit → our names and shapes, from which `workflows.importing` makes a bundle.

    files/kinds      which kind a path is, by its files, and the refusal of what cannot be imported
    files/foreign    what a reader returns: weights, configuration, and the licence and hashes of what was read
    files/settings   config.json of Hugging Face → keys of [model]
    marian/layers    tensors → weights by our names: rows renumbered, the axis of d_model permuted
    marian/marian    Marian at Hugging Face;  marian/npz  its own files;  marian/m2m  M2M-100 and NLLB
    opennmt/         CTranslate2's folders and the packages of Argos Translate
    trial            some pairs scored: whether vocabulary and weights belong together

A module for a kind has `read_KIND(path, *, pair, scratch)`. A reader checks that every tensor is used, has
the expected shape and is finite, and raises ModelError otherwise. Nothing here executes what a file holds.
"""
