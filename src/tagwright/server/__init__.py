"""HTTP interface, label search, review pages and the store of decisions."""
