"""Recall from evidence: what was said in sessions, as sanitised in jobs that are still retained (E-05).

A line is searched by passages. Lines of tools say only that one ran, and are left out. Evidence is what
somebody said once, not memory: what is found carries its turn and date, and is no instruction to anyone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from perdure.core.admission import OutcomeTombstone
from perdure.core.evidence import EvidenceLine, EvidenceTurn
from perdure.core.job import Job, lane_of
from perdure.errors import Damaged, NewerVersion
from perdure.ports.clock import Clock
from perdure.ports.index import FeatureIndex, JobPart
from perdure.ports.queue import Queue
from perdure.recall.engine import Encoder, search_evidence
from perdure.recall.found import Document, Hit
from perdure.service.recall import checked_question, with_encoder
from perdure.service.recall_corpus import FollowingCorpus, PartDocuments
from perdure.service.recall_features import Featuring
from perdure.service.recalled import RecalledEvidence, RecalledLine

PASSAGE_CHARS_MAX = 700
_SPEAKERS = {"user": "user", "assistant": "assistant", "host": ""}
"""Who "I" is: a host's text stands in the user's place, and nobody typed it."""
_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?。！？])\s*"), re.compile(r"\s"))


class _Passage(msgspec.Struct, frozen=True):
    """A piece of a line, and where it is from."""

    text: str
    line: EvidenceLine
    turn: EvidenceTurn
    job: Job


class EvidenceRecallService:
    """Questions to the evidence of a project. Keep one in a resident process: it answers warm."""

    def __init__(
        self, queue: Queue, index: FeatureIndex, clock: Clock, *, encoder: Callable[[], Encoder | None]
    ) -> None:
        self._queue, self._index, self._clock, self._encoder = queue, index, clock, encoder
        self._warm: tuple[tuple[str, ...], FollowingCorpus] = ((), FollowingCorpus())

    def recall(
        self, project: str, question: str, *, limit: int = 5, branch_id: str | None = None
    ) -> RecalledEvidence:
        """Up to `limit` passages that answer, best first, from all branches or the one that is named.

        A job that cannot be read is named in `problems`, and the others are searched. Raises UsageError.
        """
        asked = checked_question(question)
        jobs, problems = self._jobs(project, branch_id)
        passages: dict[str, _Passage] = {}
        parts = [_part(job, passages) for job in jobs]

        def ask(encoder: Encoder | None) -> RecalledEvidence:
            return self._asked(asked, jobs, parts, passages, limit=limit, encoder=encoder)

        found, problem = with_encoder(self._encoder, ask)
        return msgspec.structs.replace(found, problems=(*problems, *problem))

    def _asked(
        self,
        question: str,
        jobs: list[Job],
        parts: list[PartDocuments],
        passages: dict[str, _Passage],
        *,
        limit: int,
        encoder: Encoder | None,
    ) -> RecalledEvidence:
        warm = self._following(tuple(job.job_id for job in jobs))
        featuring = Featuring(self._index, self._clock, encoder) if encoder is not None else None
        warm.bring_up(reversed(parts), featuring)  # the newest are encoded first
        for part in featuring.saved if featuring is not None else ():
            if isinstance(part, JobPart) and self._queue.job(part.job_id) is None:
                self._index.keep_only(part, frozenset())  # it expired meanwhile
        answer = search_evidence(
            warm.corpus, question, limit=limit, encoder=encoder, now_ms=self._clock.now_ms()
        )
        return RecalledEvidence(
            lines=tuple(_line(passages, hit) for hit in answer.hits),
            nearest=tuple(_line(passages, hit) for hit in answer.nearest),
            searches=answer.searches,
            encoder=encoder.name if encoder is not None else None,
            searched=len(passages),
            pending=warm.pending if featuring is not None else 0,
        )

    def _following(self, job_ids: tuple[str, ...]) -> FollowingCorpus:
        """The corpus of the last recall, if all that has come since stands after what it has, in order."""
        before, warm = self._warm
        if job_ids[: len(before)] != before:
            warm = FollowingCorpus()
        self._warm = (job_ids, warm)
        return warm

    def _jobs(self, project: str, branch_id: str | None) -> tuple[list[Job], tuple[str, ...]]:
        """The jobs whose evidence is retained, oldest first. One that has expired is only not removed yet."""
        jobs: list[Job] = []
        problems: list[str] = []
        for job_id in self._queue.queued():
            lane = lane_of(job_id)
            if lane.project != project or branch_id not in {None, lane.branch_id}:
                continue
            try:
                job = self._queue.job(job_id)
                if job is not None and not isinstance(self._queue.outcome(job_id), OutcomeTombstone):
                    jobs.append(job)
            except (Damaged, NewerVersion) as error:
                problems.append(error.message)
        return jobs, tuple(problems)


def passages_of(text: str) -> Iterator[str]:
    """Pieces of at most `PASSAGE_CHARS_MAX` characters, cut between paragraphs, lines, sentences or words."""
    text = text.strip()
    while len(text) > PASSAGE_CHARS_MAX:
        end = _cut(text)
        yield text[:end].strip()
        text = text[end:].strip()
    if text:
        yield text


def _cut(text: str) -> int:
    """Where the first passage ends: at the last good break in its second half, or else right at the limit."""
    for breaks in _BREAKS:
        ends = [match.end() for match in breaks.finditer(text, 0, PASSAGE_CHARS_MAX)]
        if ends and ends[-1] > PASSAGE_CHARS_MAX // 2:
            return ends[-1]
    return PASSAGE_CHARS_MAX


def _part(job: Job, passages: dict[str, _Passage]) -> PartDocuments:
    """The passages of a job that no earlier one has: generations and forks of a session share their turns."""
    documents: list[Document] = []
    session = job.evidence.session
    for turn in job.evidence.turns:
        for place, line in enumerate(turn.lines):
            if line.role not in _SPEAKERS:
                continue
            for number, text in enumerate(passages_of(line.text)):
                doc_id = f"{session}/{turn.turn_id}/{place}/{number}"
                if doc_id in passages:
                    continue
                passages[doc_id] = _Passage(text, line, turn, job)
                documents.append(
                    Document(
                        doc_id,
                        text,
                        speaker=_SPEAKERS[line.role],
                        group=session,
                        order=len(passages),
                        when_ms=turn.settled_ms,
                    )
                )
    return PartDocuments(JobPart(job.job_id), job.evidence_digest, tuple(documents))


def _line(passages: Mapping[str, _Passage], hit: Hit) -> RecalledLine:
    passage = passages[hit.doc_id]
    turns = dict.fromkeys(passages[each].turn.turn_id for each in hit.why.neighbours)
    return RecalledLine(
        text=passage.text,
        role=passage.line.role,
        host=passage.job.evidence.host,
        session=passage.job.evidence.session,
        turn_id=passage.turn.turn_id,
        line_id=passage.line.line_id,
        job_id=passage.job.job_id,
        settled_ms=passage.turn.settled_ms,
        score=hit.score,
        margin=hit.margin,
        why=msgspec.structs.replace(hit.why, neighbours=tuple(turns)),
    )
