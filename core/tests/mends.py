"""What evalkit adds to errors of plugins, for tests that compare whole messages."""


def mend_of(error: BaseException) -> str:
    """Return what is added to an error that ends the process, else nothing."""
    mend = "; raise an error, as a plugin must not end the process"
    return mend if isinstance(error, SystemExit) else ""
