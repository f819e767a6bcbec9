"""A real browser: login, upload, progress, board and comparison, on desk and phone."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalkit_services_server.accounts import save_account
from evalkit_services_server.database import writing
from evalkit_services_server.settings import Settings

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    database = f"sqlite:///{tmp_path}/server.db"
    return Settings(database=database, store=f"{tmp_path}/store")


@pytest.fixture
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium on the path")
    with sync_api.sync_playwright() as playwright:
        # a container's root cannot make the namespaces of the sandbox
        own = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=own)
        yield browser
        browser.close()


def test_a_submitter_uploads_follows_and_compares(world: Any, browser: Any) -> None:
    world.submit(world.add_model("vader"), world.predictions["vader"])
    assert world.evaluate() == "done"
    with writing(world.engine) as connection:
        save_account(connection, "bob", PASSWORD)
    with world.served() as address:
        page = browser.new_page(base_url=address)
        page.goto("/account")
        page.fill("#name", "bob")
        page.fill("#password", PASSWORD)
        page.keyboard.press("Enter")
        page.fill("#name", "mine")
        page.click("button:has-text('Add')")
        page.set_input_files("#file", str(world.predictions["vader"]))
        page.click("section button:has-text('Upload')")
        page.wait_for_selector("text=waiting to be evaluated")
        assert world.evaluate() == "done"
        page.click("text=Scores (run 2)", timeout=20_000)  # without a reload
        page.goto("/tasks/sentiment")
        page.select_option("#field-by", "tag")
        page.wait_for_url("**?*by=tag*")
        page.wait_for_selector("th:has-text('negation:yes')")
        page.goto("/compare?dataset=1")
        page.select_option("#field-first", "1")
        page.select_option("#field-second", "2")
        page.click("button:has-text('Compare')")
        assert page.inner_text("h1") == "vader and mine on sample-sentiment"
        page.wait_for_selector("h2:has-text('Comparison')")
        page.click("text=Log out bob")
        page.wait_for_selector("text=Log in")


VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


def test_pages_fit_and_break_no_policy(world: Any, browser: Any) -> None:
    world.submit(world.add_model("a-model-" + "x" * 56), world.predictions["vader"])
    assert world.evaluate() == "done"
    paths = "/", "/tasks/sentiment", "/models/1", "/datasets/1", "/runs/1", "/compare"
    tags = "/tasks/sentiment?dataset=sample-sentiment&by=tag"
    with world.served() as address:
        for width, scheme in VIEWS:
            view = {"width": width, "height": 900}
            context = browser.new_context(viewport=view, color_scheme=scheme)
            page, said = context.new_page(), list[str]()
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("pageerror", lambda error, said=said: said.append(str(error)))
            for path in (*paths, tags, "/login"):
                page.goto(address + path)
                about = width, scheme, path
                assert (page.evaluate(OVERFLOW), said) == (0, []), about
                page.keyboard.press("Tab")
                is_focused = page.evaluate("document.activeElement !== document.body")
                assert is_focused, about
