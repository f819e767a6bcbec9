def test_the_laws_of_perturbations() -> None:
    from evalkit.testing import check_perturbation

    check_perturbation("my-thing")
