"""``python -m adacap``."""

from adacap.cli import main

if __name__ == "__main__":
    main()
