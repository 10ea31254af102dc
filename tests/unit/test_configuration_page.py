"""docs/reference/configuration.md says what config.toml may say."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from perdure.config import RETRIES_MAX, RETRY_SECONDS_MAX, Config, load_config

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "configuration.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = {
    name: (kind, default)
    for name, kind, default in re.findall(r"(?m)^\| `([a-z_.]+)` \| (.+?) \| (.+?) \| .+ \|$", TEXT)
}


def fields(kind: type[msgspec.Struct], before: str = "") -> Iterator[tuple[str, object, object]]:
    """Give every field below a struct: its dotted name, type and default."""
    for field in msgspec.structs.fields(kind):
        name = f"{before}{field.name}"
        options = field.type.__args__ if isinstance(field.type, types.UnionType) else (field.type,)
        below = [one for one in options if isinstance(one, type) and issubclass(one, msgspec.Struct)]
        if not below or below[0] is not field.type:
            yield name, field.type, field.default
        for one in below:
            yield from fields(one, f"{name}.")


@pytest.mark.requirement("S-05")
def test_the_page_has_every_field_and_no_other() -> None:
    """A setting that is added, renamed or taken away has to be so on the page."""
    assert sorted(ROWS) == sorted(name for name, _, _ in fields(Config))


@pytest.mark.requirement("S-05")
def test_the_defaults_and_bounds_on_the_page_are_those_of_the_code() -> None:
    """Defaults as TOML writes them; bounds and choices in the column of types."""
    for name, kind, default in fields(Config):
        said, shown = ROWS[name]
        if default is None or default is msgspec.NODEFAULT:
            assert shown.startswith("none"), name
        else:
            assert shown == f"`{json.dumps(default)}`", name
        for meta in getattr(kind, "__metadata__", ()):
            for bound in (meta.ge, meta.le):
                assert bound is None or f"{bound:,}" in said, (name, bound)
        for choice in re.findall(r"'(\w+)'", str(kind).partition("Literal")[2]):
            assert f'"{choice}"' in said, (name, choice)
    assert f"Counts are 1 to {RETRIES_MAX:,}, seconds 1 to {RETRY_SECONDS_MAX:,}." in TEXT


@pytest.mark.requirement("S-05")
def test_the_example_on_the_page_is_a_configuration(tmp_path: Path) -> None:
    """What is shown can be used."""
    (example,) = re.findall(r"(?s)```toml\n(.+?)```", TEXT)
    path = tmp_path / "config.toml"
    path.write_text(example, encoding="utf-8")
    assert load_config(str(path)).limits.usd == 0.5


@pytest.mark.requirement("S-05")
def test_the_page_has_every_variable_that_is_read() -> None:
    """Every PERDURE_ and XDG_ name in the sources is explained."""
    sources = (PAGE.parents[2] / "src").rglob("*.py")
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    found = set(re.findall(r"\b(?:PERDURE|XDG)_[A-Z_]+\b", text)) | {"NO_COLOR"}
    assert {name for name in found if f"`{name}`" not in TEXT} == set()
