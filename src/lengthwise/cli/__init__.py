"""The command line. Each command parses its options, calls one library function and prints the result."""
