import { Listeners } from '@weir/base/collections';
import type { RunningStatus } from '@weir/server/control';
import { hintsOf, messageOf } from '@weir/base';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { jsonOf } from '../json-of.ts';
import { Parameters } from '../parameters.ts';
import { AskedWindows } from '../reader/asked-windows.ts';
import type { TextWanted } from '../reader/file-requests.ts';
import type { ConfigState } from './config-state.ts';
import { refusedHere } from './describe-refusal.ts';
import type { CheckView, ConfigTextView, ConfigView, RunningView } from './view.ts';

/** The topics of the page Config. The files are checked only while it is watched. */
export class ConfigTopics {
  readonly #context: DashboardContext;
  readonly #state: ConfigState;
  readonly #listeners = new Listeners();
  readonly #windows: AskedWindows<TextWanted, ConfigTextView>;
  /** Key of the versions of the files whose check was requested last. */
  #asked = '';
  #checked: { readonly key: string; readonly view: CheckView } | undefined;

  constructor(context: DashboardContext, state: ConfigState) {
    this.#context = context;
    this.#state = state;
    this.#windows = new AskedWindows(
      async (wanted) => {
        const { ofFile } = state;
        return ofFile ? state.files.ask('text', { ...ofFile, ...wanted }) : NO_TEXT;
      },
      () => this.#changed(),
    );
  }

  get topics(): readonly PageTopic[] {
    const common = {
      hold: () => this.#hold(),
      onChange: (listener: () => void) => this.#onChange(listener),
    };
    return [
      { name: 'config', ...common, view: () => jsonOf(this.#view()) },
      {
        name: 'config-text',
        ...common,
        view: (parameters) => jsonOf(this.#text(new Parameters(parameters))),
      },
    ];
  }

  #hold(): Disposable {
    const held = new DisposableStack();
    held.use(this.#state.onChange(() => void this.#check()));
    held.use(this.#state.watched.hold());
    return held;
  }

  #onChange(listener: () => void): Disposable {
    const both = new DisposableStack();
    both.use(this.#listeners.add(listener));
    both.use(this.#state.onChange(listener));
    return both;
  }

  async #check(): Promise<void> {
    const { watched, files, ofFile } = this.#state;
    if (!ofFile || !watched.disk) return;
    const key = JSON.stringify([ofFile, watched.stamp]);
    if (key === this.#asked) return;
    this.#asked = key;
    let view: CheckView;
    try {
      const found = await files.ask('check', { ...ofFile, pick: null });
      view =
        found.kind === 'valid'
          ? found
          : {
              kind: 'invalid',
              refusal: await this.#state.describe(refusedHere(this.#context.now(), found.error)),
            };
    } catch (error) {
      const refused = { message: messageOf(error), place: null, hints: hintsOf(error) };
      view = {
        kind: 'invalid',
        refusal: { at: this.#context.now(), ...refused, lines: [] },
      };
    }
    if (key !== this.#asked) return; // the files have changed meanwhile
    this.#checked = { key, view };
    this.#changed();
  }

  #view(): ConfigView {
    const { watched, history, refusal, restore } = this.#state;
    const { disk, path, sameness, changedFiles } = watched;
    const { monitor, readOnly } = this.#context;
    const status = monitor.status?.value;
    return {
      path: path ?? null,
      builtIn: status?.config === null,
      unreadable: disk?.kind === 'unreadable' ? disk.reason : null,
      changedAt: disk?.kind === 'read' ? disk.changedAt : null,
      sameness,
      changedFiles,
      refusal: refusal ?? null,
      restore,
      check: this.#checked?.view ?? null,
      reloads: history.entries.slice(),
      running: status ? runningView(status) : null,
      readOnly,
    };
  }

  #text(wanted: Parameters): ConfigTextView {
    const find = wanted.text('find', '');
    const { key, view } = this.#checked ?? {};
    if (view?.kind === 'invalid') return NO_TEXT;
    return this.#windows.of({ find, ...wanted.window() }, key).shown ?? NO_TEXT;
  }

  #changed(): void {
    this.#listeners.call();
  }
}

const NO_TEXT: ConfigTextView = { total: 0, first: 0, rows: [] };

const runningView = (status: RunningStatus): RunningView => ({
  version: status.version,
  pid: status.pid,
  startedAt: status.started_at,
  planeEpoch: status.plane_epoch,
  api: status.api,
  limits: status.limits,
  memory: {
    resident: status.memory.resident,
    heapUsed: status.memory.heap_used,
    heapTotal: status.memory.heap_total,
    external: status.memory.external,
  },
  loop: status.event_loop,
});
