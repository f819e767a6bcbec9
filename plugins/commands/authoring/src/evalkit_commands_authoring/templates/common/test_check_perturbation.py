def test_the_laws_of_perturbations() -> None:
    from evalkit_testing import check_perturbation

    check_perturbation("my-thing")
