def test_the_laws_of_observers() -> None:
    from evalkit_testing import check_observer

    check_observer("my-thing")
