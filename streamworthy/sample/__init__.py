"""A Mixture-of-Experts model made locally, so that everything runs with no download."""
