"""Components that lengthwise finds by the entry points of this package."""
