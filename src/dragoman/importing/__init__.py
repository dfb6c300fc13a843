"""Importing: the model of another toolkit → our names and shapes, from which `workflows.importing` makes a bundle.

    kinds.py     which kind a path is, by its files, and the refusal of what cannot be imported
    foreign.py   what a reader returns, and the configuration of a model that no run of Dragoman made
    origin.py    licence, names, addresses and hashes of what was read
    layers.py    tensors → weights by our names: rows renumbered, the axis of d_model permuted
    settings.py  config.json of Hugging Face → keys of [model]
    yaml.py      what Marian writes as YAML
    m2m.py       M2M-100 and NLLB;  npz.py, npz_files.py  Marian's own files

Every other module reads one kind: `read_KIND(path, *, pair, scratch)`. A reader checks that every tensor is used, has
the expected shape and is finite, and raises ModelError otherwise. Nothing here executes what a file holds.
"""
