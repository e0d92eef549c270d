/** Guards what agents do on the host: patterns and humans decide, the log has it before it is done, and results hold no secrets (S57). */
import { hash } from "node:crypto";
import type { Approval, Approvals } from "../core/approval.ts";
import { AppError, type ErrorCode } from "../core/errors.ts";
import type {
  Argv,
  HostAccess,
  HostAccessList,
  HostExecOptions,
  HostHand,
  HostListing,
  HostResult,
  HostSettings,
} from "../core/host-access.ts";
import type { Happening, Recorder } from "../core/journal.ts";
import { refused } from "../core/policy-refusal.ts";
import type { Caller } from "../core/principal.ts";
import type { Redactor } from "../core/redaction.ts";
import { checkRange } from "../core/size.ts";
import { checkArgv } from "./check-argv.ts";
import { decideHost, type ReadPolicy } from "./decide.ts";
import { HostQuestions } from "./host-questions.ts";
import { hostLimits } from "./limits.ts";
import { parseAllowing } from "./pattern.ts";
import { readPieces } from "./read-pieces.ts";
import { quoteWords, splitCommand } from "./split.ts";
import type { StandingAnswers } from "./standing-answers.ts";

export interface GuardedHostParts {
  settings: HostSettings;
  policy: ReadPolicy;
  hand: HostHand;
  answers: StandingAnswers;
  approvals: Approvals;
  journal: Recorder;
  /** Masks the secrets of a namespace in results. */
  redactors: (namespace: string) => Promise<readonly Redactor[]>;
}

const howToAsk = "request it with request_host_access; list_host_access lists the access in effect";
const seconds = (ms: number) => `${ms / 1000} s`;

export class GuardedHost implements HostAccess {
  readonly #parts: GuardedHostParts;
  readonly #questions: HostQuestions;

  constructor(parts: GuardedHostParts) {
    this.#parts = parts;
    this.#questions = new HostQuestions(parts.approvals);
  }

  async exec(caller: Caller, command: string | Argv, options: HostExecOptions): Promise<HostResult> {
    this.#checkNamespace(caller);
    const { journal } = this.#parts;
    const argv = typeof command === "string" ? splitCommand(command) : command;
    checkArgv(argv);
    const timeoutMs = checkRange(
      options.timeoutMs ?? hostLimits.timeoutMs.default,
      hostLimits.timeoutMs,
      "the time of a command",
      seconds,
    );
    const about = {
      program: argv[0]?.slice(0, hostLimits.loggedChars) ?? "",
      argv_sha256: hash("sha256", JSON.stringify(argv)),
    };
    const leave = await this.#admit(caller, argv, options.signal).catch(async (error: unknown) => {
      await journal.record({ type: "host.denied", by: caller, data: { ...about, ...whyOf(error) } });
      throw error;
    });
    const data = { ...about, rule: leave.rule, approval_id: leave.approvalId };
    await journal.record({ type: "host.started", by: caller, data });
    const { approved } = leave;
    const result = await this.#parts.hand
      .exec(argv, {
        timeoutMs,
        ...(approved === undefined ? {} : { approved }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      })
      .catch(async (error: unknown) => {
        await journal.record({ type: "host.failed", by: caller, data: { ...about, ...whyOf(error) } });
        throw error;
      });
    const { exit_code, signal, timed_out, duration_ms } = result;
    const ended = { ...about, exit_code, signal, timed_out, duration_ms };
    await journal.record({ type: "host.completed", by: caller, data: ended });
    const redact = await this.#redact(caller);
    return { ...result, stdout: redact(result.stdout), stderr: redact(result.stderr) };
  }

  /** Why a command may run; throws the refusal. */
  async #admit(caller: Caller, argv: Argv, signal: AbortSignal | undefined): Promise<Leave> {
    const { policy, answers } = this.#parts;
    const { verdict, rule } = decideHost(policy, argv);
    const refuse = (why: string, ask?: string) =>
      refused({
        kind: "host",
        what: "this command",
        why,
        rule: rule?.text ?? null,
        ...(ask === undefined ? {} : { ask }),
      });
    if (verdict === "deny" && rule !== null) throw refuse(`the pattern '${rule.text}' blocks it`);
    const { namespace, id: askedBy } = caller.principal;
    const answer = await answers.find(namespace, argv);
    if (answer?.approve === false) throw refuse(`a human has denied '${answer.pattern.text}' permanently`);
    if (verdict === "allow") return { rule: rule?.text ?? null, approvalId: null };
    if (answer !== undefined)
      return { rule: answer.pattern.text, approvalId: answer.id, approved: answer.pattern.text };
    if (verdict === "deny") throw refuse("no pattern allows it", howToAsk);
    const subject = quoteWords(argv);
    const question = { namespace, subject, rule: rule?.text ?? null, askedBy };
    const approvalId = await this.#questions.ask(question, signal);
    return { rule: rule?.text ?? null, approvalId, approved: subject };
  }

  async request(caller: Caller, pattern: string, purpose: string | undefined): Promise<Approval> {
    this.#checkNamespace(caller);
    const { text } = parseAllowing(pattern.trim());
    const detail = purpose === undefined ? {} : { purpose };
    return this.#parts.approvals.request(caller, { kind: "host", sandboxId: null, subject: text, detail });
  }

  async list(caller: Caller): Promise<HostAccessList> {
    this.#checkNamespace(caller);
    const { settings, answers } = this.#parts;
    const answered = await answers.list(caller.principal.namespace);
    const show = (approve: boolean) =>
      answered
        .filter((one) => one.approve === approve)
        .map(({ id, pattern }) => ({ pattern: pattern.text, approval_id: id }));
    return {
      allowed: settings.allow,
      asked: settings.ask,
      blocked: settings.blocked,
      unknown: settings.unknown,
      approved: show(true),
      denied: show(false),
      folders: settings.folders.map(({ path, writable }) => ({ path, access: writable ? "read-write" : "read" })),
    };
  }

  async readFile(caller: Caller, path: string): Promise<{ bytes: Buffer; sizeBytes: number }> {
    this.#checkNamespace(caller);
    const whole = { offset: 0, length: hostLimits.readBytes };
    const { bytes, sizeBytes } = await this.#recorded(caller, { type: "host.read", data: { path } }, (hand) =>
      hand.read(path, whole),
    );
    if (sizeBytes > bytes.length)
      throw new AppError(
        "too_large",
        `${path} is too large to read: ${sizeBytes} bytes (limit: ${hostLimits.readBytes})`,
        {
          hint: "host_file_copy copies larger files into a sandbox",
        },
      );
    return { bytes: await this.#clean(caller, bytes), sizeBytes };
  }

  async writeFile(caller: Caller, path: string, bytes: Buffer): Promise<{ created: boolean }> {
    this.#checkNamespace(caller);
    const data = { path, bytes: bytes.length, sha256: hash("sha256", bytes) };
    return this.#recorded(caller, { type: "host.written", data }, (hand) => hand.write(path, bytes));
  }

  async listFolder(caller: Caller, path: string): Promise<HostListing> {
    this.#checkNamespace(caller);
    const { entries, truncated } = await this.#recorded(caller, { type: "host.listed", data: { path } }, (hand) =>
      hand.list(path),
    );
    const redact = await this.#redact(caller);
    return { entries: entries.map((entry) => ({ ...entry, name: redact(entry.name) })), truncated };
  }

  async openFile(caller: Caller, path: string): Promise<{ sizeBytes: number; pieces: AsyncIterable<Buffer> }> {
    this.#checkNamespace(caller);
    const redactors = await this.#parts.redactors(caller.principal.namespace);
    return this.#recorded(caller, { type: "host.read", data: { path } }, (hand) => readPieces(hand, path, redactors));
  }

  #checkNamespace({ principal: { namespace } }: Caller): void {
    if (this.#parts.settings.namespaces.includes(namespace)) return;
    throw new AppError("forbidden", `host access is disabled for the namespace ${namespace}`, {
      hint: "an operator can add it to the setting host.namespaces",
    });
  }

  async #redact({ principal }: Caller): Promise<(text: string) => string> {
    const redactors = await this.#parts.redactors(principal.namespace);
    return (text) => redactors.reduce((clean, redactor) => redactor.text(clean), text);
  }

  async #clean({ principal }: Caller, bytes: Buffer): Promise<Buffer> {
    let clean = bytes;
    for (const redactor of await this.#parts.redactors(principal.namespace)) {
      const stream = redactor.stream("mark");
      clean = Buffer.concat([...stream.push(clean), ...stream.end()]);
    }
    return clean;
  }

  /** In the log before it is done; and again when it fails, since it was not done then. */
  async #recorded<T>(
    by: Caller,
    access: Happening<"host.read" | "host.listed" | "host.written">,
    act: (hand: HostHand) => Promise<T>,
  ): Promise<T> {
    const { journal, hand } = this.#parts;
    access.data.path = access.data.path.slice(0, hostLimits.pathBytes);
    await journal.record({ ...access, by });
    return act(hand).catch(async (error: unknown) => {
      const code = error instanceof AppError ? error.code : "internal";
      const data = { ...access.data, action: access.type, error_code: code };
      await journal.record({ type: "host.failed", by, data });
      throw error;
    });
  }
}

interface Leave {
  rule: string | null;
  approvalId: string | null;
  approved?: string;
}

function whyOf(error: unknown): { error_code: ErrorCode; rule?: string | null; approval_id?: string | null } {
  if (!(error instanceof AppError)) return { error_code: "internal" };
  const { rule, approval_id: id } = error.details ?? {};
  return {
    error_code: error.code,
    rule: typeof rule === "string" ? rule : null,
    approval_id: typeof id === "string" ? id : null,
  };
}
