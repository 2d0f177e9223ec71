import type { TakenRule, TakenRules } from '@weir/server/control';
import type { Monitor } from '@weir/client/monitor';
import type { HitsState } from './view.ts';

type HitsMonitor = Pick<Monitor, 'flows' | 'status' | 'listedAt'>;

/** Key of the default route. */
const DEFAULT = -1;

/** Numbers of flows of one rule, see `RuleRow`. */
export interface RuleFlows {
  readonly open: number;
  readonly taken: number;
  readonly blocked: number;
  readonly failed: number;
}

/**
 * Counts flows by rule: open ones, and all that it has taken. Weir counts the latter; without its control socket, or
 * for an older Weir, they are the flows seen since this process started watching. Indexes of rules are valid only for
 * one set of rules, so another set restarts the count.
 */
export class RuleHits {
  readonly #now: () => number;
  #open = new Map<number, number>();
  readonly #taken = new Map<number, number>();
  #since = 0;
  #counted = 0;
  /** Number of flows registered after the first update: Weir numbers them consecutively. */
  #later = 0;
  /** The latest id before counting began, and the latest that was counted; `undefined` before the first update. */
  #firstId: number | undefined;
  #lastId = 0;
  /** Identifies a set of rules: the process, and the epoch since which they are in force. */
  #rules = '';
  #rulesSince: number | undefined;
  /** Weir's own counts; `undefined` where it has none. */
  #counts: TakenRules | undefined;
  #countsByRule: ReadonlyMap<number, TakenRule> = new Map();

  /** @param now Unix milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  get state(): HitsState {
    if (this.#counts) {
      const { since, rules } = this.#counts;
      const sum = (of: 'opened' | 'blocked' | 'failed') =>
        rules.reduce((total, each) => total + each[of], 0);
      const [blocked, failed] = [sum('blocked'), sum('failed')];
      const counted = sum('opened') + blocked + failed;
      return { by: 'weir', since, counted, blocked, failed, missed: 0, certain: true };
    }
    const missed = Math.max(0, this.#lastId - (this.#firstId ?? this.#lastId) - this.#later);
    return {
      by: 'here',
      since: this.#since,
      counted: this.#counted,
      blocked: 0,
      failed: 0,
      missed,
      certain: this.#rulesSince !== undefined,
    };
  }

  /** The numbers of one rule. @param rule `null` for the default route */
  of(rule: number | null): RuleFlows {
    const key = rule ?? DEFAULT;
    const open = this.#open.get(key) ?? 0;
    if (!this.#counts) return { open, taken: this.#taken.get(key) ?? 0, blocked: 0, failed: 0 };
    const { opened = 0, blocked = 0, failed = 0 } = this.#countsByRule.get(key) ?? {};
    return { open, taken: opened + blocked + failed, blocked, failed };
  }

  /** Counts all flows: linear in their number. */
  update({ flows, status, listedAt }: HitsMonitor): void {
    const counts = status?.value.routes.taken;
    if (counts !== this.#counts) {
      this.#counts = counts;
      this.#countsByRule = new Map(counts?.rules.map((each) => [each.rule ?? DEFAULT, each]));
    }
    if (listedAt === undefined) return;
    const { pid, routes } = status?.value ?? {};
    const rules = `${pid} ${routes?.rules_since}`;
    if (rules !== this.#rules) {
      this.#restart();
      this.#rules = rules;
      this.#rulesSince = routes?.rules_since;
    }
    const isFirst = this.#firstId === undefined;
    if (isFirst) this.#since = this.#now();
    this.#open = new Map();
    let last = this.#lastId;
    for (const [id, { view, closedAt }] of flows) {
      const isNew = id > this.#lastId;
      if (isNew) {
        last = Math.max(last, id);
        if (!isFirst) this.#later++;
      }
      if (view.plane_epoch < (this.#rulesSince ?? 0)) continue;
      const key = view.rule ?? DEFAULT;
      if (closedAt === undefined) add(this.#open, key);
      if (!isNew) continue;
      add(this.#taken, key);
      this.#counted++;
    }
    this.#lastId = last;
    this.#firstId ??= last;
  }

  #restart(): void {
    this.#taken.clear();
    this.#counted = 0;
    this.#later = 0;
    this.#firstId = undefined;
    this.#lastId = 0;
  }
}

const add = (counts: Map<number, number>, key: number): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1);
