"""Links to issue forms lead to the repository, or to what to do without one."""

import yaml

from atlas_study.pages import forms, label_checks
from conftest import ROOT

ADDRESS = "https://github.com/ana/atlas"


def test_a_link_to_a_form_has_language_and_title_filled_in():
    text = forms.with_address(f"[send it]({label_checks.form('sw')})", ADDRESS)
    assert text == (
        f"[send it]({ADDRESS}/issues/new?template=labels.yml"
        "&title=Labels%3A%20Swahili&language=Swahili%20%28sw%29)"
    )


def test_without_an_address_links_and_page_say_what_to_do():
    page = (ROOT / "book" / "label-sets.md").read_text(encoding="utf-8")
    assert forms.PLACE in page
    assert "names no public repository" in forms.with_address(page, "")
    assert f"{ADDRESS}/issues/new" in forms.with_address(page, ADDRESS)
    assert forms.with_address("[a](form:labels.yml)", "") == "[a](label-sets)"


def test_the_form_takes_what_the_links_fill_in():
    path = ROOT / ".github" / "ISSUE_TEMPLATE" / label_checks.FORM
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    names = {field["id"] for field in form["body"]}
    assert {"language", "origin", "sheet", "licence"} <= names
