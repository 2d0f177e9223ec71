import { Listeners } from '@weir/base/collections';
import type { RunningStatus } from '@weir/server/control';
import { hintsOf, messageOf } from '@weir/base';
import type { DashboardContext, PageTopic, PageAction, PageSource } from '../contract.ts';
import { jsonOf, Parameters, ActionError } from '../parameters.ts';
import { AskedWindows } from '../reader/asked-windows.ts';
import type { TextWanted, FileWorker } from '../reader/file-requests.ts';
import { ConfigState, restoreFile } from './config-state.ts';
import { refusedHere } from './describe-refusal.ts';
import type {
  CheckView,
  ConfigTextView,
  ConfigView,
  RunningView,
  RestorePreview,
  RestoreResult,
} from './view.ts';
import { PickActions } from '../routes/pick-actions.ts';
import { PickState } from '../routes/pick-state.ts';
import { routesTopic } from '../routes/routes-topic.ts';

/** The topics of the page Config. The files are checked only while it is watched. */
class ConfigTopics {
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
      () => this.#listeners.call(),
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
    this.#listeners.call();
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

/** Larger files are not compared: each line that is shown requires a pass over its file. */
const MAX_COMPARED = 4 << 20;

/** The actions of the page Config: reloads, and restoring the last version of the file that ran. */
const configActions = (state: ConfigState): readonly PageAction[] => [
  {
    name: 'config-reload',
    changes: true,
    run: async () => jsonOf(await state.reload('reload')),
  },
  { name: 'config-difference', changes: false, run: async () => jsonOf(await compare(state)) },
  {
    name: 'config-restore',
    changes: true,
    run: async (parameters) => {
      const wanted = new Parameters(parameters);
      return jsonOf(await restore(state, wanted.text('from'), wanted.text('to')));
    },
  },
];

async function compare(state: ConfigState): Promise<RestorePreview> {
  const { watched } = state;
  await watched.look();
  const { path, disk, loaded } = watched;
  const { restore: view } = state;
  if (view.kind !== 'possible' || path === undefined || disk?.kind !== 'read' || !loaded) {
    const why = view.kind === 'impossible' ? view.reason : 'the file is the one that runs';
    throw new ActionError('nothing-to-restore', `There is nothing to restore: ${why}.`);
  }
  if (disk.version.bytes.length + loaded.bytes.length > MAX_COMPARED) {
    throw new ActionError('too-large', 'The file is too large to show the difference here.');
  }
  const difference = await state.files.ask('difference', {
    before: disk.version.bytes,
    after: loaded.bytes,
  });
  return { path, from: disk.version.etag, to: loaded.etag, difference };
}

/** @param from entity tag of the file as the page has seen it @param to of the version to restore */
async function restore(state: ConfigState, from: string, to: string): Promise<RestoreResult> {
  const { watched } = state;
  const { path, loaded } = watched;
  if (path === undefined || loaded?.etag !== to) {
    return { kind: 'conflict', message: 'Another version has been loaded meanwhile.' };
  }
  const conflict = await restoreFile(path, { from, bytes: loaded.bytes });
  if (conflict !== undefined) {
    await watched.look();
    return { kind: 'conflict', message: conflict };
  }
  return state.loadWritten('restore the last version that ran');
}

/** The pages Config and Routes, which share one `ConfigState`. */
export const createConfigSource = (context: DashboardContext, files: FileWorker): PageSource => {
  const state = new ConfigState(context, files);
  const picks = new PickState(context, state);
  return {
    topics: [...new ConfigTopics(context, state).topics, routesTopic(context, state, picks)],
    actions: [...configActions(state), ...new PickActions(context, state, picks).actions],
  };
};
