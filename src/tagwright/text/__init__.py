"""Text in, words and sentences out, and the language they are in."""
