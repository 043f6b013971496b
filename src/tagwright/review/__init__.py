"""A review without its pages: the file with documents and decisions, statistics, exports, and what to label next.

It knows nothing of HTTP and HTML; `tagwright.server.review` shows the pages. Start at `decisions.Decisions`.
"""

from typing import Literal, TypeAlias

Order: TypeAlias = Literal["given", "random"]
"The order of the documents to review: as they were added, or drawn as `sampling.sample` does."
