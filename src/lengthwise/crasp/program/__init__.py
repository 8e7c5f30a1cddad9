"""Programs of C-RASP[periodic, local]: operations, the fragment that they use, and the builder that writes them."""
