import type { RunningWeir } from '../client/find-running.ts';
import { messageOf, hintsOf } from '../errors.ts';
import type { Monitor, MonitoredFlow } from '../monitor/contract.ts';
import { HealthWatch } from '../monitor/health.ts';
import type { FailingOutbounds } from '../monitor/log/failing-outbounds.ts';
import type { Clock, Timer } from '../net/time/clock.ts';
import { draw } from './draw.ts';
import { KeyReader, type Key } from './keys.ts';
import { press, type Change, type Wish } from './press.ts';
import { Screen, sizeOf, type TerminalOutput } from './screen.ts';
import type { Snapshot } from './snapshot.ts';
import { sortFlows } from './sort-flows.ts';
import {
  FIRST_STATE,
  type ChangeChoice,
  type ChangePrompt,
  type Overlay,
  type TopState,
} from './top-state.ts';
import { closeQuestion, failureHints, pickQuestion, reloadQuestion } from './wishes.ts';

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
  readonly #wish: (wish: 'quit' | 'suspend') => void;
  #state: TopState = FIRST_STATE;
  #flows: readonly MonitoredFlow[] = [];
  #timer: Timer | undefined;
  readonly #reader = new KeyReader();
  #escapeTimer: Timer | undefined;
  readonly #held = new DisposableStack();

  /** @param wish called when the user requests to quit, or to suspend the program */
  constructor(parts: TopParts, output: TerminalOutput, wish: (wish: 'quit' | 'suspend') => void) {
    this.#parts = parts;
    this.#output = output;
    this.#screen = new Screen(output, parts.hasColour ? 'all' : 'colourless');
    this.#health = new HealthWatch(parts.monitor);
    this.#wish = wish;
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
      const { state, wish } = press(this.#state, key, this.#snapshot());
      const isSorted =
        state.filter === this.#state.filter &&
        state.sort === this.#state.sort &&
        state.reversed === this.#state.reversed;
      this.#state = state;
      if (!isSorted) this.#arrange();
      if (wish) this.#do(wish);
    }
    this.#draw();
  }

  #do(wish: Wish): void {
    switch (wish.kind) {
      case 'quit':
      case 'suspend':
        this.#wish(wish.kind);
        return;
      case 'redraw':
        this.#screen.redraw();
        return;
      case 'answer':
        void this.#change(wish.answer);
        return;
      case 'close':
      case 'reload':
      case 'pick':
        void this.#ask(wish);
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
