"""Code of the user's own: loaded from files, and described where it fails."""
