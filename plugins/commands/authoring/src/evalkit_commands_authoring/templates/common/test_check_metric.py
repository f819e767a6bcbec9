def test_the_laws_of_metrics() -> None:
    from evalkit.testing import check_metric

    check_metric("my-thing")
