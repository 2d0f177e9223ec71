import assert from 'node:assert/strict';
import type { BrowserContext, CDPSession, ConsoleMessage, Page, Request } from 'playwright-core';
import { eventually } from '../wait.ts';

/**
 * Waits until an expression is true in the page. Playwright's `waitForFunction` evaluates it with eval from its second
 * look on, which the policy of the document forbids.
 */
export const untilTrue = (page: Page, expression: string): Promise<boolean> =>
  eventually(expression, () => page.evaluate<boolean>(expression));

/** Bytes of a stream that are kept, from its end. */
const KEPT = 4 << 20;

/**
 * A page of the dashboard with everything that it requests and receives. Disposing of it checks what holds for every
 * page: no request leaves for another server, nothing has a secret in it, nothing was blocked by the policy of the
 * document, and no error was left unhandled.
 */
export class WatchedPage implements AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** URLs in order. */
  readonly requests: string[] = [];
  /** Errors of scripts, and violations of the Content-Security-Policy. */
  readonly errors: string[] = [];
  /** Texts that must not be seen anywhere. */
  readonly #secrets: string[];
  readonly #origin: string;
  readonly #bodies: Promise<string>[] = [];
  readonly #blocked = new Set<string>();
  readonly #streams = new Map<string, string>();
  /** Whether `errors` are expected. */
  allowsErrors = false;

  private constructor(page: Page, origin: string, secrets: readonly string[]) {
    this.page = page;
    this.context = page.context();
    this.#origin = origin;
    this.#secrets = [...secrets];
  }

  /** @param origin of the dashboard */
  static async watch(page: Page, origin: string, secrets: readonly string[]): Promise<WatchedPage> {
    const watched = new WatchedPage(page, origin, secrets);
    page.on('request', (request) => watched.requests.push(request.url()));
    page.on('requestfailed', (request) => {
      // The policy of the document has stopped it here.
      if (request.failure()?.errorText === 'csp') watched.#blocked.add(request.url());
    });
    page.on('pageerror', (error) => watched.errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !isStatus(message.text()) && !isOfDebugger(message))
        watched.errors.push(message.text());
    });
    page.on('requestfinished', (request) => watched.#bodies.push(bodyOf(request)));
    await watched.#readStreams(await page.context().newCDPSession(page));
    return watched;
  }

  /** One more text that must not be seen anywhere. */
  forbid(secret: string): void {
    this.#secrets.push(secret);
  }

  /** What the streams of this page have carried. */
  get streamed(): string {
    return [...this.#streams.values()].join('\n');
  }

  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T> {
    return this.page.evaluate(expression);
  }

  /**
   * Goes to a place of the dashboard, such as `#/connections?filter=x`, and waits until its page is there: keys that
   * come earlier go to the page before it.
   */
  async goTo(place: string): Promise<void> {
    await this.evaluate(`location.hash = ${JSON.stringify(place)}`);
    const [page] = place.split('?');
    await this.page
      .locator(`nav.pages a[href="${page}"][aria-current=page]`)
      .waitFor({ state: 'attached' });
  }

  /**
   * Presses two keys of which the second has to follow soon, such as `g c`: neither waits until the page has taken
   * the other, since on a busy machine that takes longer than the page waits for the second key.
   */
  async pressBoth(first: string, second: string): Promise<void> {
    const { keyboard } = this.page;
    await Promise.all([keyboard.press(first), keyboard.press(second)]);
  }

  /** Gives the window another size, and waits until the page is laid out for it. */
  async resize(size: { readonly width: number; readonly height: number }): Promise<void> {
    await this.page.setViewportSize(size);
    const { width, height } = size;
    await untilTrue(this.page, `innerWidth === ${width} && innerHeight === ${height}`);
    // Media queries are reported before the next frame is drawn; what listens to them has rendered then.
    await this.evaluate(
      'new Promise((resolve) => requestAnimationFrame(resolve)).then(() => undefined)',
    );
  }

  /** Fails if anything that every page keeps to does not hold. */
  async check(): Promise<void> {
    const foreign = this.requests.filter(
      (url) => new URL(url).origin !== this.#origin && !this.#blocked.has(url),
    );
    assert.deepEqual(foreign, [], 'requests to other servers');
    if (!this.allowsErrors) assert.deepEqual(this.errors, [], 'errors in the page');
    const isOwn = this.page.url().startsWith(`${this.#origin}/`);
    const stored = await this.evaluate<string>(
      !isOwn
        ? '""'
        : '[document.documentElement.outerHTML, JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, location.href].join("\\n")',
    );
    const cookies = JSON.stringify(await this.context.cookies());
    const bodies = await Promise.all(this.#bodies);
    for (const text of [stored, cookies, this.streamed, ...bodies, ...this.requests]) {
      for (const secret of this.#secrets) {
        assert.ok(!text.includes(secret), 'a secret has reached the browser');
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (!this.page.isClosed()) await this.check();
    } finally {
      await this.context.close();
    }
  }

  /** Playwright has bodies only when they are complete, which streams are not. */
  async #readStreams(session: CDPSession): Promise<void> {
    await session.send('Network.enable');
    const append = (id: string, base64: string): void => {
      const text = Buffer.from(base64, 'base64').toString();
      this.#streams.set(id, ((this.#streams.get(id) ?? '') + text).slice(-KEPT));
    };
    session.on('Network.responseReceived', ({ requestId, response }) => {
      if (response.mimeType !== 'text/event-stream') return;
      this.#streams.set(requestId, '');
      session.send('Network.streamResourceContent', { requestId }).then(
        ({ bufferedData }) => append(requestId, bufferedData),
        () => undefined, // It has ended.
      );
    });
    session.on('Network.dataReceived', ({ requestId, data }) => {
      if (data !== undefined && this.#streams.has(requestId)) append(requestId, data);
    });
  }
}

/**
 * axe-core, which the debugger runs, makes style sheets that the policy blocks. Its script has no address; those of the
 * page have, and their styles are errors.
 */
const isOfDebugger = (message: ConsoleMessage): boolean =>
  message.text().startsWith('Applying inline style violates') && message.location().url === '';

/** Chromium writes a line for each response with a status of 4xx, which tests ask for. */
const isStatus = (text: string): boolean =>
  text.startsWith('Failed to load resource: the server responded with a status of');

async function bodyOf(request: Request): Promise<string> {
  try {
    const response = await request.response();
    return (await response?.text()) ?? '';
  } catch {
    return ''; // A redirect, or a response without a body.
  }
}
