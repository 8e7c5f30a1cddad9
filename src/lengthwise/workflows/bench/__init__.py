"""Speed against named alternatives, measured in one run: what ``lengthwise bench`` prints."""
