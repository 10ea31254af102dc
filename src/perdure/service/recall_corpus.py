"""A corpus that follows what is on disk: brought up by difference before each search (R-08)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from perdure.core.canonical import digest
from perdure.ports.index import Part
from perdure.recall.engine import Corpus, Features
from perdure.recall.found import Document
from perdure.service.recall_features import Featuring


class PartDocuments(msgspec.Struct, frozen=True):
    """The documents of a part as they are now; `source` is the digest of what they were read from."""

    part: Part
    source: str
    documents: tuple[Document, ...]


class FollowingCorpus:
    """Documents as a search sees them. A resident process keeps one, so that only changes cost time."""

    def __init__(self) -> None:
        self.corpus = Corpus()
        self._versions: dict[str, str] = {}
        self._featured: set[str] = set()
        self._sources: dict[Part, str] = {}

    def bring_up(self, parts: Iterable[PartDocuments], featuring: Featuring | None) -> None:
        """Make the corpus hold exactly these documents, with such features as there is time for."""
        given = tuple(parts)
        present = {document.doc_id for each in given for document in each.documents}
        for doc_id in [known for known in self._versions if known not in present]:
            self._drop(doc_id)
        self._sources = {
            part: source for part, source in self._sources.items() if part in {p.part for p in given}
        }
        for each in given:
            if self._sources.get(each.part) == each.source and self._complete(each, featuring):
                continue
            self._follow(each, featuring)
            self._sources[each.part] = each.source

    def _complete(self, each: PartDocuments, featuring: Featuring | None) -> bool:
        return featuring is None or all(document.doc_id in self._featured for document in each.documents)

    def _follow(self, each: PartDocuments, featuring: Featuring | None) -> None:
        versions = {document.doc_id: version_of(document) for document in each.documents}
        ready: dict[str, Features] = {}
        if featuring is not None:
            wanted = {versions[document.doc_id]: document for document in each.documents}
            ready = featuring.of_part(each.part, wanted, source=each.source)
        for document in each.documents:
            version = versions[document.doc_id]
            same = self._versions.get(document.doc_id) == version
            made = ready.get(version)
            if same and (made is None or document.doc_id in self._featured):
                continue
            if document.doc_id in self._versions:
                self._drop(document.doc_id)
            self.corpus.add(document, made)
            self._versions[document.doc_id] = version
            if made is not None:
                self._featured.add(document.doc_id)

    def _drop(self, doc_id: str) -> None:
        self.corpus.remove(doc_id)
        self._featured.discard(doc_id)
        del self._versions[doc_id]


def version_of(document: Document) -> str:
    """A digest of all that features and words can be made from; its place among others is no part of it."""
    content = msgspec.structs.replace(document, doc_id="", group="", order=0)
    return digest(content)
