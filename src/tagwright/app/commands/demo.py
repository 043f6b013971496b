"""The command `demo`."""

from tagwright.app.arguments import Quiet


def demo(_quiet: Quiet = False) -> None:
    """Tag the functions of SciPy, which is installed here, with the headings of its manual, and score it."""
    from tagwright.app import demo

    demo.run()
