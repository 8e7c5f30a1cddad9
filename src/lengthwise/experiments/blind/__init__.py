"""The blind study: one ladder of configurations for all cells, frozen with languages, seeds and rules beforehand."""
