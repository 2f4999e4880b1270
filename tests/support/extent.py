"""How often a property is tried: as often as it says with `pytest --nightly`, a third of that in every other run."""

_EXTENT = {"nightly": False}


def begin(*, nightly: bool) -> None:
    """Say which kind of run this is, before the tests are collected."""
    _EXTENT["nightly"] = nightly


def tries(number: int) -> int:
    """How many of that many examples, seeds or schedules this run goes through."""
    return number if _EXTENT["nightly"] else -(-number // 3)
