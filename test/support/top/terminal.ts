import type { TerminalOutput } from '../../../packages/watch/src/top/screen.ts';
import { ShownScreen } from './shown-screen.ts';

/** A terminal that a screen writes to; a test may let it take nothing for a while. */
export class FakeTerminal extends ShownScreen implements TerminalOutput {
  readonly #waiting: { readonly text: string; readonly taken: () => void }[] = [];
  /** Texts of the writes. */
  readonly writes: string[] = [];
  /** Whether writes wait until `take`. */
  isSlow = false;

  /** Writes that the terminal has not taken. */
  get waiting(): number {
    return this.#waiting.length;
  }

  override write(text: string, taken?: () => void): void {
    this.writes.push(text);
    this.#waiting.push({ text, taken: () => taken?.() });
    if (!this.isSlow) this.take();
  }

  /** Takes what waits. */
  take(): void {
    for (const { text, taken } of this.#waiting.splice(0)) {
      super.write(text);
      taken();
    }
  }

  /** Bytes written since the last call. */
  volume(): number {
    return this.writes.splice(0).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  }
}
