"""The HTML page of an evaluation or a comparison: `page` writes it, `plots` draws its SVG."""
