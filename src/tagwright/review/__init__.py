"""A review without its pages: the file with documents and decisions, statistics, exports, and what to label next.

It knows nothing of HTTP and HTML; `tagwright.server.review` shows the pages. Start at `decisions.Decisions`.
"""

from typing import Literal, TypeAlias

By: TypeAlias = Literal["random", "length", "uncertainty"]
"How to choose documents to label next, see `sampling.sample`."

Order: TypeAlias = Literal["given", By]
"The order of the documents to review: as they were added, or chosen as `sampling.sample` does."
