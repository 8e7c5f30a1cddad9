"""What is fixed before any training: which languages, what is predicted of them, and the file that says so."""
