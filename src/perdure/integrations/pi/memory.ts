/**
 * The memory of one Pi session: keeps a child, starts it again when it is lost, and says so once.
 *
 * No method throws or rejects, and each ends by a deadline.
 */

import { Child, type ChildEvent, type Command, DEADLINES, type Reply } from "./child.ts";
import type { Host, Installed } from "./host.ts";
import { type Answer, type Data, PROTOCOL, textOf } from "./wire.ts";

/** How many children one session may use up; a new session or /reload begins again. */
const STARTS_MAX = 4;
/** Relevance is judged by the last sentences of a prompt; a pasted file need not cross the wire. */
const PROMPT_CHARS_MAX = 100_000;

export type Launch = (
  command: Command,
  onEvent: (event: ChildEvent) => void,
  onGone: () => void,
) => Child;

export class Memory {
  /** The latest progress; empty when nothing is under way. */
  progress = "";
  private readonly host: Host;
  private readonly installed: Installed | string;
  private readonly launch: Launch;
  private child: Child | null = null;
  private greeting: Promise<Reply> | null = null;
  private starts = 0;
  private asked: string | null = null;
  private refusal = "";
  private outSaid = false;
  private greeted = false;
  /** There is no home yet: each call looks whether there is one now. */
  private unset = false;
  private closed = false;
  private idle: (() => void)[] = [];

  constructor(host: Host, installed: Installed | string, launch: Launch = (...args) => new Child(...args)) {
    this.host = host;
    this.installed = installed;
    this.launch = launch;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Start the child and greet it, without waiting for either. */
  begin(): void {
    if (typeof this.installed === "string") this.out(this.installed);
    else this.start(this.installed);
  }

  /** The section for a turn that starts now; empty when memory has nothing to say, or is not there. */
  async turn(prompt: string): Promise<string> {
    const child = await this.ready(false);
    if (child === null || this.unset) return "";
    // A child that is behind is not waited for a second time; the next turn looks again.
    if (child.behind) return "";
    const reply = await child.ask("turn", { prompt: prompt.slice(-PROMPT_CHARS_MAX) }, DEADLINES.turn);
    if (reply.kind === "answer" && reply.ok) {
      this.outSaid = false;
      return textOf(reply.data.section);
    }
    this.out(reply.kind === "answer" ? reply.text : reply.why);
    return "";
  }

  /** Ask what a tool or a command needs. */
  async ask(op: string, args: Data, deadline: number = DEADLINES.tool): Promise<Answer> {
    const child = await this.ready(true);
    if (child === null) return failed("unavailable", `Memory is not available: ${this.absence()}.`);
    const reply = await child.ask(op, args, deadline);
    if (reply.kind === "silence") {
      const unsure = "Whether it was done is not known: list before you try again.";
      return failed("silent", `Memory gave no answer: ${reply.why}. ${reply.late ? unsure : "Try again."}`);
    }
    if (reply.ok && (op === "fork" || op === "use")) this.used(textOf(reply.data.branch));
    return reply;
  }

  /** A run ended well: what the session's file proves may be captured. */
  settled(): void {
    const file = this.host.file;
    if (file === null || this.host.nested) return;
    void this.tell("settled", { sessionFile: file, leaf: this.host.leaf() });
  }

  /** The session went to another place in its tree, where another branch of memory may have been in use. */
  async moved(): Promise<void> {
    const name = this.host.branch();
    if (name !== this.asked && name !== null) {
      const reply = await this.tell("use", { name }, DEADLINES.turn);
      if (reply?.ok) this.asked = name;
      else if (reply !== null) this.host.say(`Perdure: ${reply.text}`, "warning");
    } else if (name !== this.asked) {
      await this.child?.close();
      this.child = null;
      if (typeof this.installed !== "string") this.start(this.installed);
    }
    void this.tell("moved", { leaf: this.host.leaf() });
  }

  compacted(): void {
    void this.tell("compacted", {});
  }

  /** Wait until no review is under way, at most `deadline` milliseconds; whether that is so. */
  quiet(deadline: number): Promise<boolean> {
    if (this.progress === "") return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), deadline);
      this.idle.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    const child = this.child;
    this.child = null;
    await child?.close();
  }

  /** The child once it has been greeted, or null. The user's own calls try again what was refused. */
  private async ready(again: boolean): Promise<Child | null> {
    if (this.closed || typeof this.installed === "string") return null;
    if (this.refusal && again) this.refusal = "";
    if (this.refusal) return null;
    if (this.child?.stuck) this.child.kill();
    if ((this.child === null || this.child.gone || this.child.stuck) && !this.start(this.installed)) return null;
    await this.greeting;
    if (this.unset && this.child !== null) {
      this.greeting = this.greet(this.child, this.host.branch(), this.installed.release);
    }
    const reply = await this.greeting;
    return this.refusal || reply?.kind !== "answer" ? null : this.child;
  }

  private start(installed: Installed): boolean {
    if (this.starts >= STARTS_MAX) return false;
    this.starts += 1;
    const command = {
      python: installed.python,
      // -P: a project's own files never stand in for the packages that the child imports
      args: ["-P", "-m", "perdure.hosts.pi_child"],
      cwd: this.host.cwd,
      env: { ...process.env },
    };
    const child = this.launch(command, (event) => this.event(event), () => this.lost(child));
    this.child = child;
    this.greeting = this.greet(child, this.host.branch(), installed.release);
    return true;
  }

  private async greet(child: Child, branch: string | null, release: string): Promise<Reply> {
    const reply = await child.ask(
      "hello",
      {
        protocol: PROTOCOL,
        session: this.host.session,
        sessionFile: this.host.nested ? null : this.host.file,
        cwd: this.host.cwd,
        branch,
        mode: this.host.mode,
        extension: release,
      },
      DEADLINES.hello,
    );
    if (reply.kind === "silence") {
      if (!this.closed) this.out(reply.why);
      return reply;
    }
    if (reply.ok) {
      this.asked = branch;
      this.welcome(reply);
    } else if (branch !== null && (reply.code === "not-found" || reply.code === "removed")) {
      this.host.say(`Perdure: ${reply.text} This session goes on with the selected branch.`, "warning");
      return this.greet(child, null, release);
    } else {
      this.refusal = reply.text;
      this.starts -= 1; // it was there, and said what to do: the user's next call tries again
      this.out(reply.text);
      await child.close();
    }
    return reply;
  }

  private welcome(reply: Answer): void {
    this.unset = reply.data.project === null;
    if (this.greeted) return;
    this.greeted = true;
    const notice = textOf(reply.data.notice);
    if (notice) this.host.say(`Perdure: ${notice}`, "info");
    else if (this.host.file === null && !this.host.nested) {
      this.host.say("Perdure: this session is not saved, so its turns are not captured.", "info");
    }
  }

  /** Tell a child that is there; one that is not there will read the session's file when it comes. */
  private async tell(op: string, args: Data, deadline: number = DEADLINES.tool): Promise<Answer | null> {
    const child = this.child;
    if (child === null || child.gone || (await this.greeting)?.kind !== "answer" || this.refusal) return null;
    const reply = await child.ask(op, args, deadline);
    return reply.kind === "answer" ? reply : null;
  }

  private used(name: string): void {
    if (!name) return;
    this.asked = name;
    this.host.keepBranch(name);
  }

  private event(event: ChildEvent): void {
    if (event.kind === "card") this.host.card(event.card);
    else if (event.kind === "notice") this.host.say(`Perdure: ${event.text}`, event.level);
    else {
      this.progress = event.text;
      this.host.status(event.text);
      if (event.text === "") this.rest();
    }
  }

  private lost(child: Child): void {
    if (child !== this.child || this.closed || this.refusal) return;
    this.progress = "";
    this.host.status("");
    this.rest();
    this.out(child.gone);
  }

  private rest(): void {
    for (const wake of this.idle.splice(0)) wake();
  }

  private out(why: string): void {
    if (this.outSaid) return;
    this.outSaid = true;
    const next = "Pi goes on without it; what was stored is safe.";
    this.host.say(`Perdure: memory is not available: ${why.replace(/\.$/, "")}. ${next}`, "warning");
  }

  private absence(): string {
    if (typeof this.installed === "string") return this.installed;
    const why = this.refusal || this.child?.gone || "its process does not answer";
    const over = this.starts >= STARTS_MAX ? "; /reload starts it again" : "";
    return `${why.replace(/\.$/, "")}${over}`;
  }
}

function failed(code: string, text: string): Answer {
  return { kind: "answer", id: 0, ok: false, text, data: {}, code };
}
