"""Files in, documents and labels out: one module a format."""
