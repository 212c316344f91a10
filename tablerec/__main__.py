"""``python -m tablerec``."""

from tablerec.cli import main

if __name__ == "__main__":
    main()
