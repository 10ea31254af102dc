"""Write protocol/ and the pictures from the code: `python -m tools.make_protocol [--check]`.

protocol/schemas/ gets a JSON Schema for every kind of record, for the envelope, for what records embed as
text, for unsynced notes and for what commands print; protocol/golden/v1/ one record of every kind, byte for
byte, and pi-wire-1/ messages of the wire to Pi; docs/explanation/pictures.md the diagrams. What the code no
longer makes is removed. With `--check` nothing is written, differences are printed and the exit status is 1.

Golden files of a published version are promises: when this changes one, the change of the code is wrong, or
it needs a new version of that record.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from tools import protocol_golden, protocol_pi, protocol_pictures, protocol_printed, protocol_schemas

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = Path("protocol/schemas")
GOLDEN = Path("protocol/golden/v1")
PI_GOLDEN = Path("protocol/golden/pi-wire-1")
PICTURES = Path("docs/explanation/pictures.md")
_OWN_FOLDERS = (SCHEMAS, GOLDEN, PI_GOLDEN)


def schemas() -> dict[str, protocol_schemas.Schema]:
    """Every schema by the name before `.schema.json`."""
    kinds = protocol_schemas.record_types()
    found = {kind: protocol_schemas.record_schema(record) for kind, record in kinds.items()}
    found["envelope"] = protocol_schemas.envelope_schema(sorted({record.KIND for record in kinds.values()}))
    found["proposal"] = protocol_schemas.proposal_schema()
    return found | protocol_printed.printed_schemas() | protocol_pi.schemas()


def contents() -> dict[Path, bytes]:
    """Every file that is made, relative to the repository, and its bytes."""
    made = {
        SCHEMAS / f"{name}.schema.json": f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n".encode()
        for name, schema in schemas().items()
    }
    made |= {GOLDEN / name: data for name, data in protocol_golden.golden_files().items()}
    made |= {PI_GOLDEN / name: data for name, data in protocol_pi.golden_files().items()}
    made[PICTURES] = protocol_pictures.pictures().encode()
    return made


def differences(root: Path, made: Mapping[Path, bytes]) -> list[str]:
    """Say which files are missing, different or not made by the code."""
    found = []
    for path, data in sorted(made.items()):
        target = root / path
        if not target.is_file():
            found.append(f"{path}: missing")
        elif target.read_bytes() != data:
            found.append(f"{path}: not what the code makes")
    return found + [f"{path}: nothing makes it" for path in _strays(root, made)]


def _strays(root: Path, made: Mapping[Path, bytes]) -> list[Path]:
    there = [path.relative_to(root) for folder in _OWN_FOLDERS for path in (root / folder).glob("*")]
    return sorted(path for path in there if path not in made)


def write(root: Path, made: Mapping[Path, bytes]) -> None:
    """Write all files and remove those that nothing makes."""
    for path, data in made.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_bytes() != data:
            target.write_bytes(data)
            print(f"wrote {path}")
    for path in _strays(root, made):
        (root / path).unlink()
        print(f"removed {path}")


def main() -> int:
    """Write, or compare; return the exit status."""
    parser = argparse.ArgumentParser(prog="make_protocol", description="Write protocol/ from the code.")
    parser.add_argument("--check", action="store_true", help="only compare; exit status 1 if it differs")
    made = contents()
    if not parser.parse_args().check:
        write(ROOT, made)
        return 0
    found = differences(ROOT, made)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
