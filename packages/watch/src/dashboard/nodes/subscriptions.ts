import { Listeners } from '@weir/base/collections';
import { messageOf } from '@weir/base';
import { systemClock, type Clock, type Timer } from '@weir/io/time';
import { printable, printableLines } from '@weir/base/printable';
import type { ListedSource } from '@weir/nodes/subscribe';
import type { PageTopic, DashboardContext, PageAction } from '../contract.ts';
import type { FileModel } from '../reader/file-model.ts';
import type {
  SubscriptionRow,
  SubscriptionsView,
  ListedNames,
  SourceReport,
  UpdateReport,
} from './view.ts';
import { balancerLine, differenceLine } from '@weir/nodes/subscribe/nodes/difference';
import { ActionError, Parameters } from '../parameters.ts';
import type { UpdateOutcome } from '../reader/file-requests.ts';
import { commandLine } from '../shared/texts.ts';
import type { JsonValue } from '../shared/protocol.ts';

/** Milliseconds between two reads while a page is open: a system timer may update the subscriptions too. */
const READ_MS = 30_000;

/** The topic `subscriptions`. */
export class SubscriptionsTopic implements PageTopic {
  readonly name = 'subscriptions';
  readonly #file: FileModel;
  readonly #clock: Clock;
  readonly #listeners = new Listeners();
  #rows: readonly SubscriptionRow[] = [];
  #error: string | undefined;
  #busy: SubscriptionsView['busy'] = null;
  #version: string | undefined;
  #timer: Timer | undefined;
  #holds = 0;

  constructor(file: FileModel, clock: Clock = systemClock) {
    this.#file = file;
    this.#clock = clock;
  }

  view(): SubscriptionsView {
    return { rows: this.#rows, error: this.#error ?? null, busy: this.#busy };
  }

  /** @param what the operation in progress; `null` for none */
  set busy(what: SubscriptionsView['busy']) {
    this.#busy = what;
    this.#listeners.call();
  }

  hold(): Disposable {
    const held = new DisposableStack();
    held.use(this.#file.hold());
    const onFile = (): void => {
      if (this.#file.facts?.version !== this.#version) void this.read();
    };
    held.use(this.#file.onChange(onFile));
    this.#holds++;
    held.defer(() => {
      if (--this.#holds === 0) this.#timer?.cancel();
    });
    void this.read();
    return held;
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  /** Reads the sources and their stored state. */
  async read(): Promise<void> {
    const { path, facts } = this.#file;
    this.#version = facts?.version;
    if (typeof path === 'string' && facts?.hasSubscriptions === true) {
      try {
        this.#rows = (await this.#file.worker.ask('sources', { path })).map(rowOf);
        this.#error = undefined;
      } catch (error) {
        this.#error = printable(messageOf(error));
      }
    } else {
      this.#rows = [];
      this.#error = undefined;
    }
    this.#listeners.call();
    this.#timer?.cancel();
    if (this.#holds > 0) this.#timer = this.#clock.after(READ_MS, () => void this.read());
  }
}

function rowOf(source: ListedSource): SubscriptionRow {
  const { name, host, outbound, nodes, kept, updated, due, userinfo, failure } = source;
  const { upload, download, total, expire } = userinfo ?? {};
  const hasUsed = upload !== undefined || download !== undefined;
  return {
    id: name,
    host,
    outbound: outbound ?? null,
    nodes,
    kept,
    updated: updated ?? null,
    due,
    used: hasUsed ? (upload ?? 0) + (download ?? 0) : null,
    total: total ?? null,
    expires: expire === undefined ? null : expire * 1000,
    failure: failure ? { at: failure.at, message: printable(failure.message) } : null,
  };
}

/** Maximum number of names of a list that a page receives. */
const MOST_NAMES = 200;

type ActionContext = Pick<DashboardContext, 'monitor' | 'socket' | 'env'>;

/**
 * The actions `subscription-compare`, which fetches and changes nothing, and `subscription-update`, which applies the
 * fetched sources and reloads Weir.
 */
export const subscriptionActions = (
  context: ActionContext,
  file: FileModel,
  topic: SubscriptionsTopic,
): readonly PageAction[] => {
  const run = async (value: JsonValue, dryRun: boolean, signal: AbortSignal) => {
    const parameters = new Parameters(value);
    const name = parameters.text('name', '');
    const force = parameters.flag('force');
    const { path } = file.ofFile;
    if (path === null) {
      throw new ActionError('no-file', 'the built-in configuration has no subscriptions');
    }
    if (topic.view().busy !== null) {
      throw new ActionError('busy', 'an update is under way', { hint: 'wait for its end' });
    }
    topic.busy = dryRun ? 'compare' : 'update';
    try {
      const { socket, env } = context;
      const names = name === '' ? [] : [name];
      const wanted = { path, names, dryRun, force, socket, env };
      const done = await file.worker.ask('update', wanted, signal);
      return {
        sources: done.outcomes.map(reportOf),
        applied: printableLines(done.applied.trimEnd()),
        fetchedAgain: done.fetchedAgain,
        command: commandLine([
          'weir',
          'subscribe',
          'update',
          ...names,
          ...(force ? ['--force'] : []),
          '--config',
          path,
        ]),
      } satisfies UpdateReport;
    } finally {
      topic.busy = null;
      await Promise.all([topic.read(), dryRun ? undefined : refreshed(context, file)]);
    }
  };
  return [
    {
      name: 'subscription-compare',
      changes: false,
      run: (value, signal) => run(value, true, signal),
    },
    {
      name: 'subscription-update',
      changes: true,
      run: (value, signal) => run(value, false, signal),
    },
  ];
};

async function refreshed({ monitor }: ActionContext, file: FileModel): Promise<void> {
  await monitor.refresh();
  await file.look();
}

function reportOf({ source, kind, difference, ...rest }: UpdateOutcome): SourceReport {
  const { added, removed, changed, kept } = difference;
  const { balancers, notes, information, leftOut, error } = rest;
  return {
    id: source,
    kind,
    line: differenceLine(difference),
    added: namesOf(added),
    removed: namesOf(removed),
    changed: namesOf(changed),
    kept: namesOf(kept),
    balancers: balancers.map(balancerLine),
    notes: notes.map(printable),
    information,
    leftOut: leftOut.map(({ name, reason }) => ({ name, reason: printable(reason) })),
    error: error && {
      message: printableLines(error.message),
      hints: error.hints.map(printable),
    },
  };
}

const namesOf = (names: readonly string[]): ListedNames => ({
  names: names.slice(0, MOST_NAMES),
  more: Math.max(0, names.length - MOST_NAMES),
});
