"""The nouns that everything else uses: errors, configuration, registries, random streams, batches."""
