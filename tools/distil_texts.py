"""The words and sentences from which `tools.distil_static` learns what a model makes of words together.

They are plain sentences of talk about software, written for this purpose; what is asked of a memory when its
quality is measured is not among them. Marks in braces stand for a thing, something one does, a quality.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

FRAMES = """
what is the {n}?
what {n} do we use for {n}?
which {n} does the {n} need?
where is the {n} kept?
where do {n} and {n} go?
how do I {v} the {n}?
how do we {v} {a} {n}?
how many {n} are allowed in a {n}?
how long does the {n} {v}?
how often is the {n} changed?
who may {v} the {n}?
who looks after {n} and {n}?
when does the {n} {v}?
why did we {v} the {n}?
why is the {n} so {a}?
can I {v} a {n} without the {n}?
may I {v} {n} on {n}?
is {n} better than {n} here?
does {n} {v} the {n}?
do we still {v} {n}?
what happens when the {n} is {a}?
what should I {v} before the {n}?
what tells us that {n} is {a}?
what must never {v} the {n}?
the {n} is {a}
the {n} of the {n}
the {n} is {n}
{n}: {n} {n}
{n}: {v} {n} with {n}
{n}: {a} {n}, never {n}
{n} {n}
{a} {n}
{v} {n}
{v} the {a} {n}
{n} and {n}
{n} for {n}
{n} or {n} for {a} {n}
in this project, the {n}: {n} {n}
in this project: {v} {n} first
note: {n} {v} {n}
use {n}, not {n}
always {v} the {n} before {n}
never {v} {n} in {n}
{v} it with {n} {n}
we {v} {n} because {n} is {a}
we chose {n} over {n}
{n} comes from {n}
{n} must be {a}
{n} is {a} since {n}
{n} breaks when {n} is {a}
{n} fails, so {v} the {n} first
please {v} the {n} and {v} the {n}
I want to {v} my {n}, what helps?
somebody asked whether {n} can {v} {n}
after {n}, {v} the {n} again
{n} runs on {n} and needs {n}
only {n} may {v} {n}
{n} {n} {n}
{n} {v} {a} {n} {n}
{a} {n} {v} {n} for {a} {n} in the {n}
the {a} {n} that we {v} with {n} stands in {n}
everything about {n}, {n} and {n}
my {n} is {a}, where do I look?
tell me about the {n}
remind me which {n} we {v}
there is no {n} without {n}
it takes a {a} {n} to {v} this
""".strip().splitlines()

_THINGS = """
address, administrator, agent, alarm, alert, algorithm, allocation, answer, archive, argument, array,
artifact, assertion, attachment, audit, author, backend, backup, balance, bandwidth, batch, benchmark,
binary, board, body, boundary, branch, browser, bucket, budget, buffer, bug, build, bundle, button,
cable, cache, calendar, call, camera, certificate, change, changelog, channel, chart, check, checkout,
class, cleanup, client, clock, cloud, cluster, code, colleague, colour, column, command, comment,
commit, company, compiler, component, compression, computer, configuration, connection, console,
constraint, container, contract, contributor, cookie, copy, core, cost, counter, country, coverage,
crash, credential, currency, customer, dashboard, data, database, date, deadline, debugger, decision,
decoder, default, delay, delivery, dependency, deployment, desk, developer, device, diagram, dictionary,
directory, discount, disk, document, documentation, domain, download, draft, driver, editor, email,
encoding, encryption, endpoint, engine, environment, error, event, example, exception, experiment,
export, expression, extension, failure, feature, feed, field, file, filter, finance, firewall, fix,
flag, floor, folder, font, form, format, framework, frontend, function, gateway, generator, graph,
group, guide, handler, hardware, hash, header, holiday, home page, hook, host, hour, icon, identifier,
image, import, incident, index, input, installer, instance, instruction, integer, integration,
interface, interval, invoice, issue, item, job, journal, key, keyboard, label, language, laptop,
latency, law, layer, layout, lead, leak, library, licence, limit, line, linter, link, list, listener,
load balancer, lock, log, login, loop, machine, mail, maintainer, manager, manual, map, market, maximum,
measurement, meeting, member, memory, menu, merge, message, method, metric, microphone, migration,
minimum, mirror, mobile app, mode, model, module, money, monitor, month, name, namespace, network, node,
note, notebook, notification, number, object, office, operating system, operator, option, order,
organisation, output, owner, package, page, parameter, parser, partition, partner, password, patch,
path, payment, performance, permission, person, phone, picture, pipeline, plan, platform, player,
plugin, point release, policy, pool, port, precision, price, printer, priority, privacy, process,
processor, product, production, profile, program, project, prompt, protocol, proxy, pull request,
quality, query, question, queue, quota, random seed, rate, record, recovery, region, registry,
regression, release, reminder, repository, report, request, requirement, response, result, retention,
retry, review, reviewer, risk, role, room, root, rounding, route, row, rule, runner, runtime, sample,
sandbox, schedule, schema, scope, screen, script, search, second, secret, security, sensor, server,
service, session, setting, shell, signal, signature, site, size, skill, snapshot, socket, software,
source, space, spelling, staging, standard, state, statement, status, step, storage, store, stream,
string, style, subscription, subtitle, suite, supplier, support, switch, symbol, syntax, table, tag,
target, task, tax, team, telephone, template, tenant, terminal, test, text, theme, thread, threshold,
ticket, time zone, timeout, timestamp, title, token, tool, toolchain, topic, trace, traffic, training,
transaction, translation, trigger, tutorial, type, unit, update, upgrade, upload, user, validation,
value, variable, vendor, version, video, view, virtual machine, visitor, vote, warning, week, weekend,
widget, window, wire, word, worker, workflow, workspace, writer, year, continuous integration, unit
test, end to end test, code review, feature flag, source control, access control, package manager, style
guide, object storage, message queue, data warehouse, rate limit, on-call rota, public holiday, error
budget, release notes, working hours, single sign-on, lock file, web server, search engine, mailing
list, test data, load test, hot fix, roll back, type checker, command line, user interface, design
system, background job, scheduled task, environment variable, health check, primary key, foreign key,
access token, sign-in page, shopping cart, credit card, bank account, time off, pair programming, stack
trace, dead code, merge conflict, pre-commit hook, Python, JavaScript, TypeScript, Rust, Go, Java, C++,
Ruby, PHP, Kotlin, Swift, SQL, HTML, CSS, JSON, YAML, XML, CSV, PDF, HTTP, DNS, TLS, SSH, USB, GPU, CPU,
API, SDK, CLI, Linux, Windows, macOS, Android, iOS, Docker, Kubernetes, Postgres, MySQL, SQLite, Redis,
Kafka, nginx, GitHub, GitLab, Slack, AWS, Azure, Terraform, Ansible, npm, pip, cargo, gradle, webpack,
React, Vue, Django, Flask, pytest, Jest, Node, Chrome, Firefox, Safari, Prometheus, Grafana, Sentry,
Stripe, OAuth, UTC, Berlin, Monday, Friday, March, December, 8080, 3.11, 42, 2024, 500 ms, 20 percent, 3
days, 4 GB
"""

_DEEDS = """
accept, add, allow, announce, answer, approve, archive, ask, assign, attach, avoid, back up, ban, block,
break, bring up, build, bump, buy, cache, call, cancel, catch, change, charge, check, choose, clean,
clear, clone, close, collect, commit, compare, compile, compress, configure, confirm, connect, convert,
copy, count, create, debug, decide, delete, deliver, deploy, describe, detect, disable, discard,
distribute, document, download, draw, drop, edit, enable, encode, encrypt, enforce, escape, estimate,
expire, export, fail, fetch, filter, find, finish, fix, forbid, forget, format, freeze, generate, grant,
guard, handle, hide, host, ignore, import, increase, index, inform, inspect, install, invite, keep,
launch, learn, limit, link, lint, listen, load, lock, log in, lose, lower, mask, measure, meet, merge,
migrate, mock, monitor, mount, move, name, notify, open, order, organise, pack, parse, patch, pause,
pay, pick, pin, plan, print, profile, protect, prove, provide, publish, pull, push, query, raise, read,
rebuild, receive, recover, redirect, reduce, refuse, regenerate, register, reject, release, reload,
remember, remove, rename, render, renew, repair, repeat, replace, reply, report, request, reset,
resolve, restart, restore, retry, return, revert, review, rewrite, roll out, rotate, round, run,
sanitise, save, scale, schedule, search, secure, see, seed, sell, send, serve, set, set up, share, ship,
show, shut down, sign, simulate, skip, sort, split, stage, start, stop, store, stub, submit, subscribe,
support, switch, sync, tag, talk, terminate, test, throttle, track, translate, trigger, trust, try,
tune, turn off, turn on, uninstall, unlock, update, upgrade, upload, use, validate, verify, wait, wake,
warn, wipe, work around, write
"""

_QUALITIES = """
absolute, abstract, active, automatic, available, bad, big, broken, cheap, clean, closed, common,
compatible, complete, confidential, correct, critical, daily, dangerous, dark, dead, deep, default,
deprecated, different, dirty, duplicate, early, easy, empty, encrypted, exact, expensive, experimental,
external, fast, fatal, final, flaky, foreign, fragile, free, fresh, full, generic, global, good, green,
hard, heavy, hidden, high, idle, illegal, important, incomplete, incremental, internal, invalid, large,
late, lazy, legacy, light, local, locked, long, loud, low, main, mandatory, manual, maximum, minimal,
missing, modern, monthly, mutable, native, nested, new, nightly, noisy, obsolete, official, offline,
old, open, optional, outdated, parallel, partial, pending, permanent, personal, plain, popular,
portable, preferred, pretty, previous, primary, private, production, public, quick, random, raw, ready,
recent, recursive, red, redundant, reliable, remote, required, restricted, reusable, risky, safe,
secret, secure, shared, short, silent, simple, single, slow, small, special, stable, stale, static,
strict, strong, stuck, temporary, thin, tight, tiny, trusted, unexpected, unique, unknown, unsafe,
unstable, unused, urgent, useful, valid, verbose, weak, weekly, white, wide, wrong
"""

WORDS = {
    mark: tuple(" ".join(text.split()).split(", "))
    for mark, text in {"n": _THINGS, "v": _DEEDS, "a": _QUALITIES}.items()
}
"""By the letter of the mark that they stand for."""

OWN_SHARE = 0.5
"""Sentences about software; the others are about a word of the vocabulary and words that are near to it."""

_STRAY = 0.15
"""How often a word comes from the other of the two sources, and, of the vocabulary, from anywhere in it."""


def sentences(
    words: Sequence[str], near: NDArray[np.int32], count: int, chance: random.Random
) -> Iterator[str]:
    """Make sentences. `words` are the vocabulary's, the frequent ones first; `near` [words, k] holds, for
    each, the places of the words of the nearest meanings. Frequent words are drawn more often.
    """
    for _ in range(count):
        own = chance.random() < OWN_SHARE
        start = _drawn(len(words), chance)
        around = [start, *near[start].tolist()]
        frame = chance.choice(FRAMES)
        for mark, of_mark in WORDS.items():
            while f"{{{mark}}}" in frame:
                if own == (chance.random() >= _STRAY):
                    word = chance.choice(of_mark)
                elif chance.random() < _STRAY:
                    word = words[_drawn(len(words), chance)]
                else:
                    word = words[chance.choice(around)]
                frame = frame.replace(f"{{{mark}}}", word, 1)
        yield frame


def _drawn(count: int, chance: random.Random) -> int:
    return int(count * chance.random() ** 1.5)
