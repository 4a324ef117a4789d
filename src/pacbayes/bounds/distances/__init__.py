"""One module per distance; a new one is a subclass of `Distance` and a call of `register_distance`."""
