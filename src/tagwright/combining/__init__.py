"""What several stages say in, one ranking out."""
