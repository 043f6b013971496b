"""The command `demo`."""

from tagwright.app.arguments import Quiet


def demo(_quiet: Quiet = False) -> None:
    """Tag the functions of the installed SciPy with the headings of its manual, and score the result."""
    from tagwright.app import demo

    demo.run()
