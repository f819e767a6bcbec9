"""HateCheck, read from the publisher's own file."""

from __future__ import annotations

import polars as pl

from evalkit import DataError, Dataset, Source

FILE = "test_suite_cases.csv"

_COLUMNS = (
    "case_id",
    "test_case",
    "label_gold",
    "functionality",
    "target_ident",
    "direction",
    "templ_id",
)


class HateCheck(Dataset):
    """3 728 short texts that test 29 functionalities of hate speech detection.

    Most rows are templates filled with the name of a group, so rows of one template
    are not independent: the cluster is `templ_id`.
    """

    name = "hatecheck"
    task = "hs"
    labels = {"hateful": "hateful", "non-hateful": "not-hateful"}
    cluster = "templ_id"
    # most functionalities have one gold class only, for which accuracy is meant
    perf_metric = "accuracy"
    eval_metrics = ("macro-f1",)
    version = "1"
    license = "CC-BY-4.0"
    source_url = "https://github.com/paul-rottger/hatecheck-data"
    languages = ("en",)
    description = "Functional tests for hate speech detection models"
    content_warning = "contains hateful statements and slurs"
    citation = """@inproceedings{rottger-etal-2021-hatecheck,
  title = {{HateCheck}: Functional Tests for Hate Speech Detection Models},
  author = {R{\\"o}ttger, Paul and Vidgen, Bertie and Nguyen, Dong and Waseem, Zeerak
            and Margetts, Helen and Pierrehumbert, Janet},
  booktitle = {Proceedings of ACL-IJCNLP 2021},
  pages = {41--58},
  year = {2021},
  doi = {10.18653/v1/2021.acl-long.4}
}"""
    sources = {
        FILE: Source(
            url="https://raw.githubusercontent.com/paul-rottger/hatecheck-data/main/"
            "test_suite_cases.csv",
            sha256="ecf0dc1e93fccc90b6f880e632b19e635c0f0a68b3157915a9e20b6938f121cf",
            license="CC-BY-4.0",
            citation=citation,
        )
    }
    label_field_converter = {
        "id": "uid",
        "answer": "label_gold",
        "tags": {
            "functionality": "functionality",
            "target": "target_ident",
            "direction": "direction",
        },
    }

    def load(self, split: str) -> pl.DataFrame:
        """Read the file; `case_id` is the id and `test_case` the statement."""
        path = self.file(FILE)
        try:
            frame = pl.read_csv(path, infer_schema=False)
        except pl.exceptions.PolarsError as error:
            reason = str(error).partition("\n")[0]
            raise DataError(
                f"{path}: cannot be read as CSV in UTF-8: {reason}"
            ) from error
        missing = [column for column in _COLUMNS if column not in frame.columns]
        if missing:
            raise DataError(
                f"{path}: has no column {', '.join(missing)}; it has "
                f"{', '.join(frame.columns)}"
            )
        # polars makes a row without any value of a blank line
        return frame.filter(~pl.all_horizontal(pl.all().is_null())).rename(
            {"case_id": "uid", "test_case": "statement"}
        )
