"""The review pages of the server, and training on what was decided there.

Start at `page` for the addresses, at `review` for what happens behind them; `tagwright.review` stores the decisions.
"""
