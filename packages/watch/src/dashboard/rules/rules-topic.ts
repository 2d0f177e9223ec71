import type { TakenRule, TakenRules } from '@weir/server/control';
import type { Monitor } from '@weir/client/monitor';
import type { HitsState, RuleRow, RulesView } from './view.ts';
import { Listeners } from '@weir/base/collections';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { AskedWindows } from '../reader/asked-windows.ts';
import type { FileModel } from '../reader/file-model.ts';
import type { RuleFacts, RulesFound, RulesWanted } from '../reader/file-requests.ts';
import { Parameters } from '../parameters.ts';
import type { JsonValue } from '../shared/protocol.ts';

type HitsMonitor = Pick<Monitor, 'flows' | 'status' | 'listedAt'>;

/** Key of the default route. */
const DEFAULT = -1;

/** Numbers of flows of one rule, see `RuleRow`. */
interface RuleFlows {
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

/**
 * The topic `rules`: a window of the rules that match a search, with their hits. The worker that has read the file
 * searches, so a view has the known window and requests the rest.
 */
export class RulesTopic implements PageTopic {
  readonly name = 'rules';
  readonly #context: Pick<DashboardContext, 'monitor'>;
  readonly #file: FileModel;
  readonly #hits: RuleHits;
  readonly #windows: AskedWindows<RulesWanted, RulesFound>;
  readonly #listeners = new Listeners();

  constructor(context: Pick<DashboardContext, 'monitor' | 'now'>, file: FileModel) {
    this.#context = context;
    this.#file = file;
    this.#hits = new RuleHits(context.now);
    this.#windows = new AskedWindows(
      (wanted) => file.worker.ask('rules', { ...file.ofFile, ...wanted }),
      () => this.#listeners.call(),
    );
  }

  view(parameters: JsonValue): RulesView {
    const wanted = wantedOf(parameters);
    const { facts, state } = this.#file;
    const { shown, pending } = this.#windows.of(wanted, facts?.version);
    const hits = this.#hits;
    return {
      file: state,
      total: shown?.total ?? facts?.rules ?? 0,
      matching: shown?.matching ?? 0,
      first: shown?.first ?? 0,
      rows: shown?.rows.map((row) => ({ ...rowOf(row), ...hits.of(row.id) })) ?? [],
      fallback: shown ? { ...shown.fallback, ...hits.of(null) } : null,
      dead: shown?.dead ?? 0,
      pending,
      hits: hits.state,
    };
  }

  hold(): Disposable {
    const held = new DisposableStack();
    const { monitor } = this.#context;
    this.#hits.update(monitor);
    held.use(this.#file.hold());
    held.use(monitor.onChange(() => this.#hits.update(monitor)));
    return held;
  }

  onChange(listener: () => void): Disposable {
    const both = new DisposableStack();
    both.use(this.#listeners.add(listener));
    both.use(this.#file.onChange(listener));
    return both;
  }
}

/** Checks the parameters of the topic. @throws {ActionError} */
function wantedOf(value: JsonValue): RulesWanted {
  const parameters = new Parameters(value);
  return {
    search: parameters.text('search', '').trim(),
    ...parameters.window(),
    dead: parameters.flag('dead'),
  };
}

const rowOf = (row: RuleFacts): Omit<RuleRow, keyof RuleFlows> => row;
