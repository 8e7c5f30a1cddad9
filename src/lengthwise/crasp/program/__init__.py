"""Programs of C-RASP[periodic, local]: operations, programs, their fragments, and the builder."""
