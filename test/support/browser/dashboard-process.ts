import type { Child } from '../process/child.ts';
import { weirCommand, type WeirOptions } from '../process/weir.ts';

const LINK = /^https?:\/\/\S+#[\w-]+$/gm;

/** `weir dashboard` as a process. */
export class DashboardProcess implements AsyncDisposable {
  readonly child: Child;
  #links = 0;

  private constructor(child: Child) {
    this.child = child;
  }

  /** Starts it and waits for its link. */
  static async start(
    args: readonly string[],
    options: WeirOptions = {},
  ): Promise<DashboardProcess> {
    const dashboard = new DashboardProcess(weirCommand(['dashboard', ...args], options));
    try {
      await dashboard.#link(1);
      return dashboard;
    } catch (error) {
      await dashboard[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The address without a token: `http://127.0.0.1:PORT`. */
  get url(): string {
    const [link = ''] = this.links;
    return new URL(link).origin;
  }

  /** All links that it has printed. */
  get links(): readonly string[] {
    return this.child.stdout.match(LINK) ?? [];
  }

  /** A link that has not been used. */
  async newLink(): Promise<string> {
    if (this.#links > 0) this.child.signal('SIGUSR2');
    return this.#link(++this.#links);
  }

  #link(count: number): Promise<string> {
    return this.child.until(`its link ${count}`, () => this.links[count - 1]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.child[Symbol.asyncDispose]();
  }
}
