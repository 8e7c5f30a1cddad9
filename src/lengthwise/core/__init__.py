"""Classes that every other package uses: errors, configuration, registries, random streams and batches."""
