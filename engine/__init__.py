"""Facts and knowledge in, ranked and explained advice out."""
