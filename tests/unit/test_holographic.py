"""Holographic memory: an algebra without rounding, capacity that grows, and no answer that is not stored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.recall.holographic import LOAD, PACKED_FACTS_MIN, HolographicMemory, bank_of, recall_field
from perdure.recall.phases import (
    BUNDLE_MAX,
    DIMENSIONS,
    acceptance,
    atoms,
    crosstalk,
    filler_scores,
    matched,
    predicted_accuracy,
    record,
    superpose,
    symbols,
)

SMALL = 64
"""Dimensions where only the algebra counts, which holds at any number of them."""

FACTS = {f"fact number {number}": f"value {number % 7} of {number}" for number in range(300)}
WORLD = {
    "テスト コマンド": "pytest を使う",
    "部署 目标": "生产环境",
    "команда сборки": "make build",
    "Ёлка": "ёлочка",
    "🚀 deploy": "ship it 🎉",
    "👩‍💻": "developer",
    "café naïve": "Größe",
    "경로": "src",
}

facts_strategy = st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=40)


def same_bits(one: HolographicMemory, other: HolographicMemory) -> bool:
    """Say whether two memories have the same banks with the same traces."""
    return all(
        np.array_equal(mine.trace, its.trace) and mine.facts == its.facts
        for mine, its in zip(one._banks, other._banks, strict=True)
    )


@pytest.mark.requirement("R-02")
def test_symbols_are_the_same_everywhere_and_always() -> None:
    """Symbols follow from their tokens alone: these bytes may never change, on any machine."""
    assert symbols(["test command"], "key", 16).tobytes().hex() == "2af8abb41ee92994ec58f942c4e7cf88"
    reference = (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431)
    assert tuple(atoms([1234567], 32).view("<u8")[0].tolist()) == reference  # SplitMix64, as published
    assert np.array_equal(symbols(["a"], "key", 16), symbols(["a"], "key", 2_048)[:, :16])
    assert not np.array_equal(symbols(["a"], "key", 16), symbols(["a"], "value", 16))


@given(st.text(), st.text())
def test_unbinding_undoes_binding_exactly(one: str, other: str) -> None:
    """Phases of one byte add and subtract without any rounding."""
    bound = symbols([one], "key", SMALL) + symbols([other], "value", SMALL)
    assert np.array_equal(bound - symbols([one], "key", SMALL), symbols([other], "value", SMALL))


@given(facts_strategy, st.text(max_size=8), st.text(max_size=8))
@pytest.mark.requirement("R-08", "M-12")
def test_forgetting_leaves_no_trace(facts: dict[str, str], key: str, value: str) -> None:
    """Adding a fact and taking it out restores each bit, also where banks split and merge in between."""
    memory = HolographicMemory(facts, dimensions=SMALL, load=3)
    memory.remove(key)
    before = memory.pack()
    memory.add(key, value)
    assert memory.get(key) == value
    assert memory.remove(key)
    assert memory.pack() == before
    assert not memory.remove(key)
    assert memory.get(key) is None


@given(st.lists(st.tuples(st.text("abc é", max_size=3), st.text(max_size=3), st.booleans()), max_size=60))
@pytest.mark.requirement("R-02")
def test_a_memory_is_a_function_of_its_facts(steps: list[tuple[str, str, bool]]) -> None:
    """However facts came and went, the memory has the bits of one that is built from what is left."""
    memory = HolographicMemory(dimensions=SMALL, load=2)
    left: dict[str, str] = {}
    for key, value, keep in steps:
        if keep:
            memory.add(key, value)
            left.pop(next((old for old in left if memory_key(old) == memory_key(key)), key), None)
            left[key] = value
        else:
            memory.remove(key)
            left = {old: kept for old, kept in left.items() if memory_key(old) != memory_key(key)}
    assert same_bits(memory, HolographicMemory(left, dimensions=SMALL, load=2))
    assert len(memory) == len(left)


def memory_key(key: str) -> str:
    """The form in which a memory compares keys."""
    return next(iter(HolographicMemory({key: ""}, dimensions=8)._values))


@pytest.mark.parametrize("facts", [1, 32, 96, BUNDLE_MAX])
@pytest.mark.requirement("R-02")
def test_unbinding_beats_noise_at_the_documented_capacity(facts: int) -> None:
    """Stored bindings score three deviations above absent ones and more, up to a full trace of int16.

    On average at `BUNDLE_MAX`, and each single one up to four times the load of a bank.
    """
    keys = symbols([f"key {number}" for number in range(facts)], "key")
    values = symbols([f"value {number}" for number in range(facts)], "value")
    trace = superpose(keys + values)
    stored = matched(trace, keys + values)
    noise = matched(trace, symbols([f"absent {number}" for number in range(2_000)], "key") + values[0])
    deviation = float(noise.std())
    assert stored.mean() == pytest.approx(1, abs=0.05)
    assert noise.mean() == pytest.approx(0, abs=0.02)
    assert deviation == pytest.approx(crosstalk(DIMENSIONS, facts), rel=0.1)
    assert stored.mean() >= 3 * deviation
    if facts < BUNDLE_MAX:
        assert stored.min() >= 3 * deviation


def test_a_full_trace_does_not_wrap() -> None:
    """So many equal phases as `BUNDLE_MAX` still fit, and one more does not."""
    assert superpose(np.zeros((BUNDLE_MAX, 8), np.uint8))[0].tolist() == [32_766] * 8
    assert superpose(np.zeros((BUNDLE_MAX + 1, 8), np.uint8))[0].max() < 0


@pytest.mark.parametrize(("dimensions", "facts"), [(256, 40), (512, 128), (1_024, 128)])
def test_errors_follow_the_law(dimensions: int, facts: int) -> None:
    """The share of right decodings is that of the integral, within four deviations of the count."""
    right = total = 0
    for trial in range(6):
        keys = symbols([f"k{trial}-{number}" for number in range(facts)], "key", dimensions)
        values = symbols([f"v{trial}-{number}" for number in range(facts)], "value", dimensions)
        trace = superpose(keys + values)
        right += sum(int(matched(trace, key + values).argmax()) == at for at, key in enumerate(keys))
        total += facts
    predicted = predicted_accuracy(dimensions, facts, facts)
    assert right / total == pytest.approx(predicted, abs=4 * (predicted * (1 - predicted) / total) ** 0.5)


def test_the_threshold_is_where_both_mistakes_are_as_likely() -> None:
    """It is higher the more values compete, and higher the more facts make noise."""
    assert 0.5 < acceptance(2_048, 32, 32) < acceptance(2_048, 96, 96) < 1
    assert acceptance(2_048, 32, 1) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.requirement("R-01", "R-03")
def test_ten_thousand_keys_are_exact() -> None:
    """Capacity does not collapse: each of 10,000 keys gives its own value, and 2,000 absent ones give none.

    The trace alone rejects 99.9% of the absent ones, the check against the facts all of them.
    """
    facts = {f"setting {number}": f"value of {number}" for number in range(10_000)}
    memory = HolographicMemory(facts)
    assert memory.banks == 417
    assert [key for key, value in facts.items() if memory.recall(key).value != value] == []
    absent = [f"absent {number}" for number in range(2_000)]
    assert sum(memory.decode(key).accepted for key in absent) <= 2
    assert {memory.recall(key).value for key in absent} == {None}


@pytest.mark.requirement("R-02")
def test_what_is_decoded_is_checked_against_the_facts() -> None:
    """A trace that says something else than the facts gives no answer, only its figures."""
    memory = HolographicMemory({"port": "8080", "host": "db.example.org"})
    key, value = symbols(["port"], "key"), symbols(["8080"], "value")
    other = symbols(["db.example.org"], "value")
    memory._banks[0].trace += superpose(key + other) - superpose(key + value)
    assert memory.decode("port").value == "db.example.org"
    found = memory.recall("port")
    assert (found.value, found.accepted) == (None, False)
    assert found.score == pytest.approx(1, abs=0.2)
    assert memory.get("port") == "8080"


@pytest.mark.requirement("R-02")
def test_a_score_too_low_gives_no_value() -> None:
    """A trace that does not hold the key gives none, even where the only candidate is the stored value."""
    memory = HolographicMemory({"port": "8080"})
    memory._banks[0].trace[:] = 0
    assert memory.decode("port").value == "8080"
    assert memory.recall("port").value is None


@pytest.mark.requirement("R-02", "R-05")
def test_an_absent_key_is_seen_to_be_absent() -> None:
    """The score of a key that is not stored is about 0 however few facts there are, and no value is given."""
    for facts in ({}, {"port": "8080"}, FACTS):
        found = HolographicMemory(facts).recall("nothing of the kind")
        assert (found.value, found.accepted) == (None, False)
        assert found.score < 0.4


def test_a_later_value_takes_the_place_of_the_earlier() -> None:
    """One value per key, compared by the key rule; nothing of the old one is left."""
    memory = HolographicMemory({"Test  Command": "make test"})
    memory.add("ＴＥＳＴ command", "just test")
    assert len(memory) == 1
    assert memory.recall("test command").value == "just test"
    assert same_bits(memory, HolographicMemory({"test command": "just test"}))


@pytest.mark.requirement("R-01", "R-02")
@pytest.mark.parametrize("key", list(WORLD))
def test_keys_of_any_writing(key: str) -> None:
    """Keys in CJK, Cyrillic, with accents or emoji decode to their value."""
    assert HolographicMemory(WORLD | FACTS).recall(key).value == WORLD[key]


def test_a_value_that_many_keys_share_is_one_candidate() -> None:
    """Keys of one value do not compete with each other."""
    memory = HolographicMemory({f"flag {number}": "on" for number in range(20)} | {"mode": "strict"})
    assert [memory.recall(f"flag {number}").value for number in range(20)] == ["on"] * 20
    assert memory.recall("mode").margin > 0.5


def test_an_overloaded_bank_makes_mistakes_and_no_wrong_answers() -> None:
    """Far over its load a trace decodes wrongly, as the law says; what is given out is right all the same."""
    facts = {f"k{number}": f"v{number}" for number in range(400)}
    memory = HolographicMemory(facts, load=1_000)
    assert (memory.banks, memory.fullest) == (1, 400)
    wrong = sum(memory.decode(key).value != value for key, value in facts.items())
    assert wrong / 400 == pytest.approx(1 - predicted_accuracy(DIMENSIONS, 400, 400), abs=0.1)
    found = {key: memory.recall(key).value for key in list(facts)[:100]}
    assert {key: value for key, value in found.items() if value not in {None, facts[key]}} == {}


@given(st.integers(0, 2**64 - 1), st.integers(1, 300))
def test_a_bank_keeps_its_facts_when_another_splits(hashed: int, banks: int) -> None:
    """One more bank moves only facts of one bank, and to the new one only (linear hashing)."""
    before, after = bank_of(hashed, banks), bank_of(hashed, banks + 1)
    assert 0 <= before < banks
    assert after in {before, banks}


def test_records_answer_by_role() -> None:
    """Several fields of one entity in one vector: each role gives its filler, another role gives none."""
    fields = {f"role {number}": f"filler {number}" for number in range(40)} | {
        "язык": "русский",
        "言語": "日本語",
    }
    trace = record(fields)
    fillers = list(fields.values())
    for at, role in enumerate(fields):
        scores = filler_scores(trace, role, fillers)
        assert int(scores.argmax()) == at
    assert filler_scores(trace, "no such role", fillers).max() < 0.5
    assert np.array_equal(record({"a": "1"}) + record({"b": "2"}), record({"a": "1", "b": "2"}))
    assert not record({}).any()


def test_a_record_of_too_many_fields_is_refused() -> None:
    """Rather than wrap around, it says how many fit."""
    with pytest.raises(ValueError, match="at most 258 fields"):
        record({str(number): "x" for number in range(BUNDLE_MAX + 1)})


@pytest.mark.parametrize(("dimensions", "load"), [(0, 32), (2_047, 32), (-8, 32), (2_048, 0)])
def test_settings_that_cannot_work_are_refused(dimensions: int, load: int) -> None:
    """Dimensions come in words of eight bytes, and a bank holds at least one fact."""
    with pytest.raises(ValueError, match="multiple of 8"):
        HolographicMemory(dimensions=dimensions, load=load)


@given(facts_strategy)
@pytest.mark.requirement("R-09")
def test_packed_traces_come_back(facts: dict[str, str]) -> None:
    """Packing and unpacking restores each bit; unpacked memories can be changed."""
    memory = HolographicMemory(facts, dimensions=SMALL, load=20)
    again = HolographicMemory.unpack(memory.pack(), facts, dimensions=SMALL, load=20)
    assert again is not None
    assert same_bits(memory, again)
    again.add("one", "more")
    memory.add("one", "more")
    assert same_bits(memory, again)


@pytest.mark.requirement("R-09")
@pytest.mark.parametrize(
    ("dimensions", "load", "facts"),
    [
        (1_024, LOAD, FACTS),
        (2_048, LOAD + 1, FACTS),
        (2_048, LOAD, FACTS | {"fact number 3": "another value"}),
        (2_048, LOAD, FACTS | {"one": "more"}),
        (2_048, LOAD, {}),
    ],
)
def test_traces_of_another_memory_are_refused(dimensions: int, load: int, facts: dict[str, str]) -> None:
    """Other dimensions, load or facts never mix with packed traces, and never crash recall."""
    packed = HolographicMemory(FACTS).pack()
    assert HolographicMemory.unpack(packed, FACTS) is not None
    assert HolographicMemory.unpack(packed, facts, dimensions=dimensions, load=load) is None


@pytest.mark.requirement("R-09")
@settings(max_examples=50)
@given(st.data())
def test_damaged_traces_are_refused(data: st.DataObject) -> None:
    """Any byte that is changed, missing or too many is found; nothing is raised for it."""
    facts = {f"k{number}": "v" for number in range(40)}
    packed = HolographicMemory(facts, dimensions=SMALL).pack()
    at = data.draw(st.integers(0, len(packed) - 1))
    flipped = bytes([packed[at] ^ data.draw(st.integers(1, 255))])
    for damaged in (packed[:at] + flipped + packed[at + 1 :], packed[:at], packed + b"x", b""):
        assert HolographicMemory.unpack(damaged, facts, dimensions=SMALL) is None


@pytest.mark.parametrize("number", [1, PACKED_FACTS_MIN - 1, PACKED_FACTS_MIN, 33, 300, 2_000])
def test_packed_traces_are_small_and_hold_no_text(number: int) -> None:
    """A fact costs at most 1 KB of trace, whatever their number, and its words stand nowhere."""
    packed = HolographicMemory({f"secret{at}": f"hidden{at}" for at in range(number)}).pack()
    assert len(packed) <= 64 + 1_024 * number
    assert b"secret" not in packed
    assert b"hidden" not in packed


@pytest.mark.requirement("R-02")
def test_a_field_of_an_entity_is_recalled_by_its_role() -> None:
    """Keys "entity/role" make a record: each role gives the stored value, by the key rule; another role or
    entity gives nothing, and no other entity's field of the same role comes in.
    """
    entities = {f"Service {number}": number for number in range(5)}
    facts = {
        f"{entity}/{role}": f"{role} of {number}"
        for entity, number in entities.items()
        for role in ("host", "port", "owner", *(f"flag {flag}" for flag in range(number * 5)))
    }
    for key, value in facts.items():
        entity, role = key.split("/")
        found = recall_field(facts, f" {entity.upper()}", role.upper())
        assert (found.value, found.accepted) == (value, True)
        assert found.z > 5
    for entity, role in (("Service 1", "region"), ("Service", "port"), ("Service 9", "port"), ("", "port")):
        assert recall_field(facts, entity, role).value is None
    assert recall_field({"db/port": "5432", "DB/port": "5433"}, "db", "port").value == "5433"
    with pytest.raises(ValueError, match="fields"):
        recall_field({f"big/{number}": "x" for number in range(BUNDLE_MAX + 1)}, "big", "1")
