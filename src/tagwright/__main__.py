"""python -m tagwright: the command line where the script is not on the path."""

from tagwright.app.cli import main

if __name__ == "__main__":
    main()
