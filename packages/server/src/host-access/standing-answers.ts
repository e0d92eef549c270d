/** Permanent decisions about commands of the host: patterns that hold until they are revoked. */
import type { Approval, ApprovalEffect, ApprovalRecords } from "../core/approval.ts";
import { AppError } from "../core/errors.ts";
import type { Argv } from "../core/host-access.ts";
import { decideHost, type ReadPolicy } from "./decide.ts";
import { hostLimits } from "./limits.ts";
import { hasWildcard, matchPattern, type Pattern, parseAllowing } from "./pattern.ts";
import { splitCommand } from "./split.ts";

export interface StandingAnswer {
  id: string;
  pattern: Pattern;
  approve: boolean;
}

interface StandingAnswersParts {
  records: Pick<ApprovalRecords, "get" | "list">;
  policy: ReadPolicy;
  namespaces: readonly string[];
}

const pageSize = 500;

export class StandingAnswers implements ApprovalEffect {
  readonly #parts: StandingAnswersParts;
  /** An index: what counts is the record. */
  readonly #known = new Map<string, Map<string, StandingAnswer>>();

  private constructor(parts: StandingAnswersParts) {
    this.#parts = parts;
    for (const namespace of parts.namespaces) this.#known.set(namespace, new Map());
  }

  static async open(parts: StandingAnswersParts): Promise<StandingAnswers> {
    const answers = new StandingAnswers(parts);
    for (const namespace of parts.namespaces) await answers.#load(namespace);
    return answers;
  }

  async #load(namespace: string): Promise<void> {
    for (let cursor: string | undefined; ; ) {
      const query = { namespace, kind: "host", limit: pageSize } as const;
      const page = await this.#parts.records.list(cursor === undefined ? query : { ...query, cursor });
      for (const approval of page) if (holdsAlways(approval)) this.#keep(approval, approval.state === "approved");
      cursor = page.at(-1)?.id;
      if (page.length < pageSize) return;
    }
  }

  #keep({ id, namespace, subject }: Approval, approve: boolean): void {
    this.#known.get(namespace)?.set(id, { id, approve, pattern: parseAllowing(subject) });
  }

  /** A no before a yes. */
  async find(namespace: string, argv: Argv): Promise<StandingAnswer | undefined> {
    const all = [...(this.#known.get(namespace)?.values() ?? [])];
    for (const approve of [false, true])
      for (const answer of all) {
        if (answer.approve !== approve) continue;
        const isMeant = matchPattern(answer.pattern, argv, approve ? "strict" : "wide") !== undefined;
        if (isMeant && (await this.#stillHolds(answer))) return answer;
      }
    return undefined;
  }

  async list(namespace: string): Promise<StandingAnswer[]> {
    const found: StandingAnswer[] = [];
    for (const answer of this.#known.get(namespace)?.values() ?? [])
      if (await this.#stillHolds(answer)) found.push(answer);
    return found;
  }

  async #stillHolds({ id, approve }: StandingAnswer): Promise<boolean> {
    const record = await this.#parts.records.get(id);
    return record !== undefined && holdsAlways(record) && (record.state === "approved") === approve;
  }

  /** Finds the decision about a pattern. One with wildcards is covered only by a decision about that very pattern. */
  known({
    namespace,
    subject,
  }: {
    namespace: string;
    subject: string;
  }): ReturnType<NonNullable<ApprovalEffect["known"]>> {
    const said = [...(this.#known.get(namespace)?.values() ?? [])].find(({ pattern }) => pattern.text === subject);
    if (said !== undefined) return { approve: said.approve, reason: "a human has already decided this" };
    const { allow, blocked } = this.#parts.policy;
    if (allow.some(({ text }) => text === subject))
      return { approve: true, reason: "the configuration allows it already" };
    if (blocked.some(({ text }) => text === subject)) return { approve: false, reason: "the configuration blocks it" };
    if (hasWildcard(parseAllowing(subject))) return undefined;
    const { verdict, rule } = decideHost(this.#parts.policy, splitCommand(subject));
    if (verdict === "allow") return { approve: true, reason: `'${rule?.text}' allows it already` };
    return verdict === "deny" && rule !== null ? { approve: false, reason: `'${rule.text}' blocks it` } : undefined;
  }

  /** A yes for once is for a command that would be asked about, and for that one alone. */
  check({ subject }: Approval, { approve, scope }: { approve: boolean; scope: Approval["scope"] }): void {
    if (!approve || scope !== "once") return;
    const pattern = parseAllowing(subject);
    if (!hasWildcard(pattern) && decideHost(this.#parts.policy, splitCommand(subject)).verdict === "ask") return;
    throw new AppError(
      "invalid",
      "an approval with the scope once would have no effect: this is a pattern, or a command that needs no approval",
      {
        hint: "approve it with the scope always",
      },
    );
  }

  async hold(approval: Approval, { approve }: { approve: boolean }): Promise<void> {
    if ((this.#known.get(approval.namespace)?.size ?? 0) >= hostLimits.answers)
      throw new AppError(
        "limit_exceeded",
        `too many approvals of host access in the namespace (limit: ${hostLimits.answers})`,
        {
          hint: "revoke unused ones: caisson approvals revoke ID",
        },
      );
    this.#keep(approval, approve);
  }

  async release({ id, namespace }: Approval): Promise<void> {
    this.#known.get(namespace)?.delete(id);
  }
}

function holdsAlways({ state, scope, revokedAtMs }: Approval): boolean {
  return (state === "approved" || state === "denied") && scope === "always" && revokedAtMs === null;
}
