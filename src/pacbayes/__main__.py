"""`python -m pacbayes` is `pacbayes`."""

from pacbayes.cli.app import main

if __name__ == "__main__":
    main()
