"""Turn what several stages say of the candidates into one ranking with confidences."""
