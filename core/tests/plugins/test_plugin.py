import pytest
from pydantic import ValidationError

import evalkit
from evalkit.plugins.classes import NoParameters, Plugin


class Tuned(Plugin):
    class Parameters(evalkit.Parameters):
        beta: float = 1.0


def test_a_plugin_keeps_the_parameters_that_it_is_given_or_else_its_defaults() -> None:
    given = Tuned.Parameters(beta=2)
    assert Tuned(given).parameters is given
    assert Tuned().parameters == Tuned.Parameters(beta=1)
    assert Plugin().parameters == NoParameters()


def test_parameters_are_closed_and_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="gamma"):
        Tuned.Parameters.model_validate({"gamma": 1})
    with pytest.raises(ValidationError, match="frozen"):
        Tuned.Parameters().beta = 2
