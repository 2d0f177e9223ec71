import xterm from '@xterm/headless';

/** What a terminal shows, by xterm.js. */
export class ShownScreen {
  readonly #terminal: xterm.Terminal;

  constructor(columns = 80, rows = 24) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  write(text: string): void {
    this.#terminal.write(text);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** The rows of the screen, without spaces at their ends. */
  async lines(): Promise<readonly string[]> {
    await this.#parsed();
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#terminal.rows }, (_, row) =>
      (active.getLine(active.viewportY + row)?.translateToString() ?? '').trimEnd(),
    );
  }

  /** The screen as one text. */
  async text(): Promise<string> {
    return (await this.lines()).join('\n');
  }

  /** Whether the alternate screen is shown, and whether text wraps at the last column. */
  async modes(): Promise<{ readonly isAlternate: boolean; readonly wraps: boolean }> {
    await this.#parsed();
    const { buffer, modes } = this.#terminal;
    return { isAlternate: buffer.active.type === 'alternate', wraps: modes.wraparoundMode };
  }

  /** xterm.js parses what was written later. */
  #parsed(): Promise<void> {
    return new Promise((resolve) => this.#terminal.write('', resolve));
  }
}
