import type { RunningWeir } from '@weir/client/running';
import { messageOf, hintsOf } from '@weir/base';
import {
  type Monitor,
  type MonitoredFlow,
  HealthWatch,
  type FailingOutbounds,
} from '@weir/client/monitor';
import type { Clock, Timer } from '@weir/io/time';
import { draw } from './draw.ts';
import { KeyReader, type Key, press, type Change, type KeyAction } from './press.ts';
import { Screen, sizeOf, type TerminalOutput } from './screen.ts';
import {
  type Snapshot,
  sortFlows,
  FIRST_STATE,
  type ChangeChoice,
  type ChangePrompt,
  type Overlay,
  type TopState,
} from './top-state.ts';
import {
  ApiClientError,
  type ApiClient,
  closeFlows,
  flowsLeft,
  planPick,
  putPick,
  type RoutePick,
} from '@weir/client/api';
import { quoted } from '@weir/base/printable';
import type { ReloadReport } from '@weir/server/supervisor/reload-report';
import { counted } from '@weir/base/text/amounts';
import { commandLine } from '@weir/base/text/command-line';
import { flowTarget } from './flow-columns.ts';

export interface TopParts {
  /** API and control socket for changes. */
  readonly running: Pick<RunningWeir, 'api' | 'socket'>;
  readonly monitor: Monitor;
  /** Failures from the log, which another component follows. */
  readonly failing: Pick<FailingOutbounds, 'at'>;
  readonly readOnly: boolean;
  readonly name: string;
  readonly clock: Clock;
  readonly hasColour: boolean;
}

/** Milliseconds between two frames without input. */
const FRAME_MS = 1_000;
/** Milliseconds for the rest of a key's sequence to arrive over a slow line; without it the key was ESC. */
const ESCAPE_MS = 50;

/** The terminal program: keys in, frames out. Its owner controls the terminal itself. */
export class TerminalProgram {
  readonly #parts: TopParts;
  readonly #screen: Screen;
  readonly #output: TerminalOutput;
  readonly #health: HealthWatch;
  readonly #request: (what: 'quit' | 'suspend') => void;
  #state: TopState = FIRST_STATE;
  #flows: readonly MonitoredFlow[] = [];
  #timer: Timer | undefined;
  readonly #reader = new KeyReader();
  #escapeTimer: Timer | undefined;
  readonly #held = new DisposableStack();

  /** @param request called when the user requests to quit, or to suspend the program */
  constructor(
    parts: TopParts,
    output: TerminalOutput,
    request: (what: 'quit' | 'suspend') => void,
  ) {
    this.#parts = parts;
    this.#output = output;
    this.#screen = new Screen(output, parts.hasColour ? 'all' : 'colourless');
    this.#health = new HealthWatch(parts.monitor);
    this.#request = request;
  }

  start(): void {
    this.#held.use(this.#parts.monitor.hold());
    // The first data are shown when they arrive, later ones once a second.
    this.#held.use(
      this.#parts.monitor.onChange(() => {
        if (this.#flows.length === 0) this.#frame();
      }),
    );
    this.resume();
  }

  /** Takes over the terminal. */
  resume(): void {
    this.#screen.enter();
    this.#frame();
  }

  /** Releases the terminal. Resolves when it has accepted everything, or never will. */
  suspend(): Promise<void> {
    this.#timer?.cancel();
    this.#escapeTimer?.cancel();
    return this.#screen.leave();
  }

  /** Ends the program, as `suspend`. */
  stop(): Promise<void> {
    this.#held.dispose();
    return this.suspend();
  }

  /** Redraws the screen: the terminal has another size, or something else was written to it. */
  redraw(): void {
    this.#screen.redraw();
    this.#draw();
  }

  /** Handles input of the terminal. */
  input(piece: string): void {
    this.#escapeTimer?.cancel();
    this.#press(this.#reader.push(piece));
    if (!this.#reader.isWithin) return;
    this.#escapeTimer = this.#parts.clock.after(ESCAPE_MS, () => this.#press(this.#reader.flush()));
  }

  #press(keys: readonly Key[]): void {
    for (const key of keys) {
      const { state, action } = press(this.#state, key, this.#snapshot());
      const isSorted =
        state.filter === this.#state.filter &&
        state.sort === this.#state.sort &&
        state.reversed === this.#state.reversed;
      this.#state = state;
      if (!isSorted) this.#arrange();
      if (action) this.#do(action);
    }
    this.#draw();
  }

  #do(action: KeyAction): void {
    switch (action.kind) {
      case 'quit':
      case 'suspend':
        this.#request(action.kind);
        return;
      case 'redraw':
        this.#screen.redraw();
        return;
      case 'answer':
        void this.#change(action.answer);
        return;
      case 'close':
      case 'reload':
      case 'pick':
        void this.#ask(action);
    }
  }

  /** Asks for confirmation of a change, once its effect is known. */
  async #ask(change: Change): Promise<void> {
    if (this.#parts.readOnly) {
      this.#show(message('weir top was started with --read-only: it changes nothing.'));
      return;
    }
    const { api, socket } = this.#parts.running;
    if (change.kind === 'close') this.#show(question(closeQuestion(change.flow, { api, socket })));
    else if (change.kind === 'reload') this.#show(question(reloadQuestion({ api, socket })));
    else {
      const pick = { group: change.route, target: change.target };
      const busy = this.#show(busyWith('looking at the open flows'));
      const result = await resultOf(async () =>
        question(await pickQuestion(pick, { api, socket })),
      );
      // After Esc the question is obsolete.
      if (this.#state.overlay === busy) this.#show(result);
      this.#draw();
    }
  }

  async #change({ text, run }: ChangeChoice): Promise<void> {
    this.#show(busyWith(text));
    const result = await resultOf(async () => message(await run()));
    // The monitor itself reports a source that cannot be reached now.
    await this.#parts.monitor.refresh().catch(() => undefined);
    // The result of a change is shown even after Esc.
    this.#show(result);
    this.#draw();
  }

  #show(overlay: Overlay): Overlay {
    this.#state = { ...this.#state, overlay };
    return overlay;
  }

  #frame(): void {
    this.#timer?.cancel();
    this.#timer = this.#parts.clock.after(FRAME_MS, () => this.#frame());
    if (!this.#state.isFrozen) this.#arrange();
    this.#draw();
  }

  #arrange(): void {
    const { monitor, clock } = this.#parts;
    this.#flows = sortFlows(monitor.flows.values(), this.#state, clock.wall());
  }

  #draw(): void {
    this.#screen.show(draw(this.#state, this.#snapshot()));
  }

  #snapshot(): Snapshot {
    const { monitor, failing, readOnly, name, clock } = this.#parts;
    const now = clock.wall();
    return {
      now,
      health: this.#health.at(now),
      monitor,
      flows: this.#flows,
      failing: failing.at(now),
      readOnly,
      name,
      size: sizeOf(this.#output),
    };
  }
}

const busyWith = (text: string): Overlay => ({ kind: 'busy', text: `${text} …` });
const question = (prompt: ChangePrompt): Overlay => ({ kind: 'question', question: prompt });
const message = (title: string, lines: readonly string[] = []): Overlay => ({
  kind: 'message',
  title,
  lines,
});

/** Limits of a shown error: lines, and code units of a line. */
const MOST_LINES = 100;
const LONGEST_LINE = 2_000;

/** The overlay to show after some work, also after a failure. */
async function resultOf(work: () => Promise<Overlay>): Promise<Overlay> {
  try {
    return await work();
  } catch (error) {
    const lines = [...messageOf(error).split('\n'), ...failureHints(error), ...hintsOf(error)];
    const shown = lines.slice(0, MOST_LINES).map((line) => line.slice(0, LONGEST_LINE));
    return message('That failed.', shown);
  }
}

/** Dependencies of changes. */
interface Tools {
  readonly api: ApiClient;
  /** The control socket; `undefined` if there is none. */
  readonly socket: string | undefined;
}

/** Command-line options that select this Weir: there may be others on the machine. */
const meant = ({ socket }: Pick<Tools, 'socket'>): readonly string[] =>
  socket === undefined ? [] : ['--socket', socket];

const closeQuestion = ({ view }: MonitoredFlow, { api, socket }: Tools): ChangePrompt => ({
  title: `Close flow ${view.id}?`,
  effects: [`${flowTarget(view)} by ${view.outbound === '' ? 'dns' : view.outbound}`],
  answers: [
    {
      key: 'y',
      text: 'close it',
      command: commandLine(['weir', 'ctl', 'close', String(view.id), ...meant({ socket })]),
      run: async () => {
        const closed = await closeFlows(api, [view]);
        return closed === 1 ? `Flow ${view.id} is closed.` : `Flow ${view.id} had ended.`;
      },
    },
  ],
});

const reloadQuestion = ({ api, socket }: Tools): ChangePrompt => ({
  title: 'Reload?',
  effects: [
    'Weir reads its files again and applies what has changed.',
    'No connection is dropped.',
  ],
  answers: [
    {
      key: 'y',
      text: 'reload',
      command: commandLine(['weir', 'ctl', 'reload', ...meant({ socket })]),
      run: async () => reportText((await api.ask('POST', '/v1/reload')) as ReloadReport),
    },
  ],
});

/** The confirmation of a pick: its effects, and the number of flows that it leaves open. @throws {WeirError} */
async function pickQuestion(pick: RoutePick, { api, socket }: Tools): Promise<ChangePrompt> {
  const { etag, change } = await planPick(api, pick);
  const left = socket === undefined ? undefined : await flowsLeft(api, socket, change);
  const command = (...more: readonly string[]): string =>
    commandLine(['weir', 'ctl', 'pick', pick.group, pick.target, ...more, ...meant({ socket })]);
  const put = async (): Promise<string> => reportText((await putPick(api, pick, etag)).report);
  const answers: ChangeChoice[] = [{ key: 'y', text: 'pick', command: command(), run: put }];
  if (socket !== undefined && left && left.length > 0) {
    answers.push({
      key: 'c',
      text: `pick, and close ${left.length === 1 ? 'this flow' : `these ${left.length} flows`}`,
      command: command('--close'),
      run: async () => {
        const text = await put();
        const closed = await closeFlows(api, await flowsLeft(api, socket, change));
        return `${text} Closed ${counted(closed, 'flow')}.`;
      },
    });
  }
  return {
    title: `Set ${quoted(pick.group)} to ${quoted(pick.target)}?`,
    effects: effectsOf(pick, change.from, left?.length),
    answers,
  };
}

/** Effects of a pick. @param left flows that stay open on `from`; `undefined` if their number is not known */
function effectsOf(
  { group, target }: RoutePick,
  from: string,
  left: number | undefined,
): readonly string[] {
  if (from === target) {
    return [`New flows go to ${quoted(target)} already, and open ones stay where they are.`];
  }
  const open =
    left === undefined
      ? 'Open flows stay where they are; without the control socket their number is not known.'
      : `${counted(left, 'flow')} of ${quoted(group)} ${left === 1 ? 'stays' : 'stay'} open on ${quoted(from)}.`;
  return [`New flows go to ${quoted(target)}.`, open];
}

/** The consequences of a failed change, for the user. */
function failureHints(error: unknown): readonly string[] {
  if (!(error instanceof ApiClientError)) return [];
  if (error.status === 409) return ['Another program has changed the file. Nothing was written.'];
  if (error.status !== undefined && error.etag !== undefined) {
    return ['The file has the new pick, and Weir continues with the configuration before it.'];
  }
  return [];
}

function reportText(report: ReloadReport): string {
  if (report.status === 'unchanged') return 'Nothing has changed.';
  const { built, removed } = report;
  const parts = [...built, ...removed.map((tag) => `removed ${tag}`)];
  return parts.length === 0 ? 'Applied.' : `Applied: ${parts.join(', ')}.`;
}
