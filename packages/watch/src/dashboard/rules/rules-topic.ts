import { Listeners } from '@weir/base/collections';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { AskedWindows } from '../reader/asked-windows.ts';
import type { FileModel } from '../reader/file-model.ts';
import type { RuleFacts, RulesFound, RulesWanted } from '../reader/file-requests.ts';
import { Parameters } from '../parameters.ts';
import type { JsonValue } from '../shared/protocol.ts';
import { RuleHits, type RuleFlows } from './rule-hits.ts';
import type { RuleRow, RulesView } from './view.ts';

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
