"""What reviewers decide: the file of a review, who agrees, what to review next, and exports."""

from typing import Literal, TypeAlias

Order: TypeAlias = Literal["given", "random", "length", "uncertainty"]
"The order of the documents to review: as they came, or as `review.sampling.sample` chooses them."
