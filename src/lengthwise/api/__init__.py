"""The public face: what `import lengthwise` offers, built from the packages below."""
