"""Readers of documents and of vocabularies, a module a format. They know nothing of taggers.

Start at `documents.files`, which finds the reader of a file, and at `labels.tables`. All read through `lines`, and take
no more memory and time than `limits` allows; `headers` has the words by which columns are known.
"""
