def test_the_laws_of_metrics() -> None:
    from evalkit_testing import check_metric

    check_metric("my-thing")
