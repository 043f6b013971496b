"""What reviewers decide: the file of a review, who agrees, what to review next, and exports."""
